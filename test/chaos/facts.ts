import pg from 'pg'

/** A row that an intent wrote. */
export interface Effect {
  table: 'orders' | 'payments'
  id: number
  customer: string
  /** The number of its intent. */
  intent: number
  /** When its handler wrote it; it was committed later. */
  writtenMs: number
  chargeId: string | undefined
}

/** What the provider of payments did outside the database. */
export interface Charge {
  id: string
  customer: string
  intent: number
  idempotencyKey: string
  madeAtMs: number
}

/** A recovery point of a charge. */
export interface Point {
  key: string
  customer: string
  chargeId: string
}

/** What there is in the end. */
export interface Facts {
  effects: Effect[]
  charges: Charge[]
  points: Point[]
}

/**
 * Makes the database note down the recovery points that a sweep deletes: their charges do not go away, and are compared
 * with them in the end.
 */
export async function rememberSweptPoints(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) =>
    client.query(`
    create table swept_points as select key, scope, name, result from idempotency_recovery_points;
    create function remember_point() returns trigger language plpgsql as $$
      begin
        insert into swept_points values (old.key, old.scope, old.name, old.result);
        return old;
      end
    $$;
    create trigger remember_point before delete on idempotency_recovery_points
      for each row execute function remember_point()`),
  )
}

/** Reads what is in the database. */
export async function readFacts(databaseUrl: string): Promise<Omit<Facts, 'charges'>> {
  return withClient(databaseUrl, readWith)
}

async function readWith(client: pg.Client): Promise<Omit<Facts, 'charges'>> {
  const effects = await client.query<Effect>(`
    select 'orders' as "table", id, customer, cents as intent, ${MILLISECONDS} as "writtenMs", null as "chargeId"
    from orders
    union all
    select 'payments', id, customer, cents, ${MILLISECONDS}, charge_id from payments`)
  const points = await client.query<Point>(`
    select key, scope as customer, result::json ->> 'id' as "chargeId"
    from (
      select key, scope, name, result from idempotency_recovery_points
      union all
      select key, scope, name, result from swept_points
    ) as points
    where name = 'charge'`)
  return {
    effects: effects.rows.map((row) => ({ ...row, chargeId: row.chargeId ?? undefined })),
    points: points.rows,
  }
}

const MILLISECONDS = 'extract(epoch from created_at)::float8 * 1000'

async function withClient<Result>(databaseUrl: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
