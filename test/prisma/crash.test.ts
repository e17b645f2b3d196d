import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startEmbeddedPostgres } from '../../prisma/dev/embeddedPostgres.js'

test('a Postgres that is crashed ends its sessions and comes back at the same address with what was committed, again and again', async () => {
  const server = await startEmbeddedPostgres()
  onTestFinished(() => server.stop())
  const connect = async () => {
    const client = new pg.Client(server.url('postgres'))
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('error', () => undefined)
    await client.connect()
    return { client, ended }
  }
  const before = await connect()
  await before.client.query('create table notes (text text)')
  for (const text of ['first', 'second']) {
    const { client, ended } = await connect()
    await client.query('insert into notes values ($1)', [text])
    await client.query('begin')
    await client.query(`insert into notes values ('never committed')`)
    await server.crash()
    await ended
  }
  await before.ended
  const { client } = await connect()
  expect((await client.query('select text from notes')).rows).toEqual([{ text: 'first' }, { text: 'second' }])
  await client.end()
})
