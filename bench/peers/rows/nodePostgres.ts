import { createHash } from 'node:crypto'
import { TRPCError } from '@trpc/server'
import pg from 'pg'
import { type OrderInput, orderProcedure, POOL, type Row } from '../shop.js'

const CLAIM = 'insert into claims (key, fingerprint) values ($1, $2) on conflict do nothing'
const READ = 'select fingerprint, result from claims where key = $1'
const INSERT = `insert into orders (customer, item, cents) values ('alice', $1, $2)
  returning id, customer, item, cents, created_at as "createdAt"`
const SETTLE = 'update claims set result = $2 where key = $1'

/** Claim, insert and settle in one transaction, prepared, and nothing else: the floor. */
export const row: Row = async ({ databaseUrl }) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL })
  await pool.query(`create table if not exists claims (
    key text primary key, fingerprint bytea not null, result text, created_at timestamptz(3) not null default now()
  )`)
  return orderProcedure.mutation(async ({ ctx: { key }, input }) => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const answer = await createOnce(client, key, input)
      await client.query('COMMIT')
      return answer
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  })
}

async function createOnce(client: pg.PoolClient, key: string, input: OrderInput): Promise<unknown> {
  const fingerprint = createHash('sha256').update(JSON.stringify(input)).digest()
  const claim = await client.query({ name: 'claim', text: CLAIM, values: [key, fingerprint] })
  if (claim.rowCount === 0) {
    const read = await client.query({ name: 'read', text: READ, values: [key] })
    if (!fingerprint.equals(read.rows[0].fingerprint)) throw new TRPCError({ code: 'UNPROCESSABLE_CONTENT' })
    return JSON.parse(read.rows[0].result)
  }
  const { rows } = await client.query({ name: 'insert', text: INSERT, values: [input.item, input.cents] })
  await client.query({ name: 'settle', text: SETTLE, values: [key, JSON.stringify(rows[0])] })
  return rows[0]
}
