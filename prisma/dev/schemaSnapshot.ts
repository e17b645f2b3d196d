import path from 'node:path'
import pg from 'pg'

/** What the migrations make, for review and for the tests to compare with. `npm run snapshot` renews it. */
export const SNAPSHOT_FILE = path.resolve(import.meta.dirname, '../schema.snapshot.txt')

/**
 * Describes the tables of a database as Postgres has them: with what Prisma's schema language has no word for, and that
 * its drift check therefore passes over. One thing a line, in an order that depends on names alone; the same text from
 * Postgres 15 to 18.
 */
export async function schemaSnapshot(databaseUrl: string): Promise<string> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    const { rows } = await client.query<{ line: string }>(LINES)
    return rows.map(({ line }) => `${line}\n`).join('')
  } finally {
    await client.end()
  }
}

const LINES = `
  with tables as (
    select c.oid, c.relname::text as name, c.relpersistence, c.reloptions
    from pg_class as c
    where c.relnamespace = current_schema()::regnamespace
      and c.relkind in ('r', 'p')
      and c.relname <> '_prisma_migrations'
  ),
  lines as (
    select t.name as "table", 0 as part, 0 as position, '' as name, concat(
      case t.relpersistence when 'u' then 'unlogged ' end,
      'table ', t.name,
      ' with (' || array_to_string(t.reloptions, ', ') || ')'
    ) as line
    from tables as t

    union all
    select t.name, 1, a.attnum, a.attname, concat(
      '  column ', a.attname, ' ', format_type(a.atttypid, a.atttypmod),
      -- 'default' is the collation of the database, and that is another one on each machine.
      (select ' collate ' || quote_ident(l.collname) from pg_collation as l
        where l.oid = a.attcollation and l.collname <> 'default'),
      case when a.attnotnull then ' not null' end,
      (select ' default ' || pg_get_expr(d.adbin, d.adrelid) from pg_attrdef as d
        where d.adrelid = a.attrelid and d.adnum = a.attnum)
    )
    from tables as t
    join pg_attribute as a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped

    union all
    -- Since Postgres 18 "not null" is a constraint too; the column says it already.
    select t.name, 2, 0, k.conname, concat('  constraint ', k.conname, ' ', pg_get_constraintdef(k.oid))
    from tables as t
    join pg_constraint as k on k.conrelid = t.oid and k.contype <> 'n'

    union all
    select t.name, 3, 0, i.indexrelid::regclass::text, concat('  ', pg_get_indexdef(i.indexrelid))
    from tables as t
    join pg_index as i on i.indrelid = t.oid

    union all
    select t.name, 4, 0, g.tgname, concat('  ', pg_get_triggerdef(g.oid))
    from tables as t
    join pg_trigger as g on g.tgrelid = t.oid and not g.tgisinternal
  )
  select line
  from lines
  order by "table" collate "C", part, position, name collate "C"`
