import fc from 'fast-check'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { fuzz } from './fuzz/fuzz.js'
import { serveHostile } from './fuzz/hostileServer.js'

const db = useDatabase()

/** Users whose names are each other's, but for a character. */
const USERS = ['alice', 'alice ', 'Alice', 'alice:1', 'alice%', "alice' or '1", 'bob']

test('of any calls with the same keys by several users, each is answered from what its own user did', async () => {
  const server = await serveHostile(db.prisma)
  const path = fc.constantFrom('create', 'other', 'leased')
  const call = fc.record({
    user: fc.constantFrom(...USERS),
    to: path,
    key: fc.nat(3),
    input: fc.nat(1),
    inHeader: fc.boolean(),
  })
  await fuzz({ inputs: call, share: 0.05, atATime: 30 }, async (calls) => {
    const keys = [v7(), v7(), v7(), v7()]
    await Promise.all(
      calls.map(async ({ user, to, key, input, inHeader }) => {
        const of = keys[key]
        const body = inHeader ? `${input}` : `{"~idempotency":{"key":"${of}","attempt":1},"~input":${input}}`
        const carrier = inHeader ? { 'idempotency-key': `"${of}"` } : undefined
        const headers = { 'content-type': 'application/json', 'x-user': user, ...carrier }
        const [answer] = await server.read(await fetch(`${server.url}/${to}`, { method: 'POST', headers, body }))
        // Fetch itself takes the space from the end of a header.
        if (answer?.error === undefined) expect(answer?.result?.data).toEqual({ for: user.trim() })
        else expect(['KEY_REUSED', 'IN_FLIGHT']).toContain(answer.error.data.idempotency?.reason)
      }),
    )
    server.expectSound()
    // And each user's operation, whatever it was, ran once for each key.
    const rows = await db.query(`select key, scope from idempotency_keys where key = any($1)`, [keys])
    expect(rows.length).toBe(new Set(calls.map(({ user, key }) => `${key} ${user.trim()}`)).size)
  })
})
