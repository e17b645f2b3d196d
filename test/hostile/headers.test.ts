import fc from 'fast-check'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { header, input, key, SECRET } from './fuzz/arbitraries.js'
import { fuzz } from './fuzz/fuzz.js'
import { type HostileServer, serveHostile } from './fuzz/hostileServer.js'

const db = useDatabase()

async function eachSound<Input>(server: HostileServer, inputs: Input[], send: (input: Input) => Promise<unknown>) {
  await Promise.all(inputs.map(send))
  server.expectSound()
}

const post = (server: HostileServer, path: string, init: RequestInit & { headers: Record<string, string> }) =>
  fetch(`${server.url}/${path}`, { method: 'POST', ...init, headers: { 'x-user': 'alice', ...init.headers } }).then(
    server.read,
  )

test('whatever stands in the header Idempotency-Key, the answer is a result or a refusal, and tells nothing of it', async () => {
  const server = await serveHostile(db.prisma)
  const path = fc.constantFrom('create', 'other', 'leased')
  await fuzz({ inputs: fc.tuple(path, header, input), share: 0.07 }, (inputs) =>
    eachSound(server, inputs, ([to, of, body]) =>
      post(server, to, { headers: { 'content-type': 'application/json', 'idempotency-key': of }, body }),
    ),
  )
  expect(server.runs).toBeGreaterThan(0)
})

test('the same for the header of a batch, of which each call reads its place', async () => {
  const server = await serveHostile(db.prisma)
  await fuzz({ inputs: fc.tuple(header, fc.integer({ min: 1, max: 5 })), share: 0.015, atATime: 10 }, (inputs) =>
    eachSound(server, inputs, async ([of, calls]) => {
      const headers = { 'content-type': 'application/json', 'idempotency-key': of }
      const paths = Array.from({ length: calls }, () => 'create').join()
      const answers = await post(server, `${paths}?batch=1`, { headers, body: `{"0":"${SECRET}"}` })
      expect(answers).toHaveLength(calls)
    }),
  )
})

test('the same for uploads and their digests', async () => {
  const server = await serveHostile(db.prisma)
  const digest = fc.oneof(
    header,
    fc.base64String({ minLength: 40, maxLength: 48 }).map((bytes) => `sha-256=:${bytes}:`),
    fc.constant('sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'),
  )
  const upload = fc.tuple(
    key.filter((of) => /^[\x20-\x7e]*$/.test(of)),
    digest,
    fc.uint8Array({ maxLength: 50 }),
  )
  await fuzz({ inputs: upload, share: 0.015, atATime: 10 }, (inputs) =>
    eachSound(server, inputs, ([of, said, bytes]) => {
      const headers = {
        'idempotency-key': `"${of}"`,
        'content-digest': said,
        'content-type': 'application/octet-stream',
      }
      return post(server, 'create', { headers, body: bytes as BodyInit })
    }),
  )
})
