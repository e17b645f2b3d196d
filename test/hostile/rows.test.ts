import fc from 'fast-check'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { canonicalText, fingerprint } from '../../server/engine/fingerprint.js'
import { jsonSerializer } from '../../server/engine/serializer.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { json, SECRET } from './fuzz/arbitraries.js'
import { fuzz } from './fuzz/fuzz.js'
import { serveHostile } from './fuzz/hostileServer.js'

const db = useDatabase()

const OURS = Buffer.from(fingerprint('create', canonicalText('tea', jsonSerializer)))
const OTHERS = Buffer.from(fingerprint('create', canonicalText('coffee', jsonSerializer)))

/** Texts that Postgres can hold. */
const stored = fc
  .oneof(
    json,
    fc.string({ unit: 'binary' }),
    fc.tuple(json, fc.nat(60)).map(([text, at]) => text.slice(0, at)),
    fc.constant(SECRET),
  )
  .filter((text) => !text.includes('\0') && text.isWellFormed())

/** Mostly what the shape of an error is, and mostly with something wrong. */
const shape = fc
  .record({
    message: fc.oneof({ weight: 4, arbitrary: fc.constant('"no"') }, json),
    code: fc.oneof({ weight: 4, arbitrary: fc.constantFrom('-32600', '1e999', '0.5') }, json),
    data: fc.oneof(
      json,
      fc.constantFrom('{}', '[]', 'null', '{"httpStatus":409}', '{"httpStatus":99999}', '{"httpStatus":"409"}'),
      fc.constantFrom('{"code":"CONFLICT"}', '{"code":"__proto__"}', '{"code":7}', '{"httpStatus":0.5}'),
    ),
  })
  .map(({ message, code, data }) => `{"message":${message},"code":${code},"data":${data}}`)
  .filter((text) => !text.includes('\0') && text.isWellFormed())

const result = fc.oneof(
  fc.record({ kind: fc.constant('value'), text: fc.option(stored) }),
  fc.record({
    kind: fc.constant('error'),
    text: fc.option(fc.oneof(stored, shape, fc.constant('{"message":"no","code":-32600,"data":{}}'))),
  }),
  fc.record({
    kind: fc.constant('tombstone'),
    text: fc.option(fc.oneof(stored, fc.constantFrom('RESULT_TOO_LARGE', 'RESULT_NOT_STORABLE'))),
  }),
)

const row = fc.record({
  result,
  fingerprint: fc.oneof(
    { weight: 6, arbitrary: fc.constant(OURS) },
    fc.constant(OTHERS),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.constant(Buffer.concat([Buffer.from([2]), OURS.subarray(1)])),
  ),
  fence: fc.integer({ min: 1, max: 2_147_483_647 }),
})

test('whatever stands in a settled row, it is answered as it stands there or refused, and nothing runs', async () => {
  const server = await serveHostile(db.prisma)
  await fuzz({ inputs: row, share: 0.06 }, async (given) => {
    // Not of the input, which is tried again while it is made smaller.
    const rows = given.map((one) => ({ ...one, key: v7() }))
    const values = rows.map((_, at) => {
      const first = at * 5
      return `($${first + 1}, 'alice', 'create', $${first + 2}, 'settled', $${first + 3}, $${first + 4}, $${first + 5}, 1, now(), now())`
    })
    await db.query(
      `insert into idempotency_keys
        (key, scope, procedure, fingerprint, status, result, result_kind, fence, attempts, claimed_at, settled_at)
      values ${values.join()}`,
      rows.flatMap((one) => [one.key, one.fingerprint, one.result.text, one.result.kind, one.fence]),
    )
    await Promise.all(rows.map(async (one) => expect(await told(server.url, one.key)).toEqual(expected(one))))
    server.expectSound()
    expect(server.runs).toBe(0)
  })
})

/** What comes back; of an error that is stored, only whether it is an error of its own. */
async function told(url: string, key: string): Promise<unknown> {
  const body = `{"~idempotency":{"key":"${key}","attempt":1},"~input":"tea"}`
  const headers = { 'content-type': 'application/json', 'x-user': 'alice' }
  const response = await fetch(`${url}/create`, { method: 'POST', headers, body })
  const { error, result: of } = JSON.parse(await response.text()) as Record<string, { data?: unknown }>
  if (error === undefined) return { data: of?.data }
  const said = (error.data as { idempotency?: object } | undefined)?.idempotency
  if (said === undefined || !('reason' in said)) return 'the stored error'
  expect(JSON.stringify(error)).not.toContain(SECRET)
  return said
}

const notReadable = (attemptOutcome: string) => ({ reason: 'RESULT_NOT_READABLE', attemptOutcome })

function expected({
  fingerprint: of,
  result: { kind, text },
}: {
  fingerprint: Buffer
  result: { kind: string; text: string | null }
}): unknown {
  if (of[0] !== 1) return notReadable('UNKNOWN')
  if (!of.equals(OURS)) return { reason: 'KEY_REUSED', attemptOutcome: 'NOT_EXECUTED' }
  if (kind === 'tombstone') {
    const isReason = text === 'RESULT_TOO_LARGE' || text === 'RESULT_NOT_STORABLE'
    return isReason ? { reason: text, attemptOutcome: 'EXECUTED' } : notReadable('EXECUTED')
  }
  if (text === null) return kind === 'error' ? notReadable('EXECUTED') : { data: undefined }
  const read = parsed(text)
  if (kind === 'value') return read === undefined ? notReadable('EXECUTED') : { data: sent(read.value) }
  const { message, code, data } = Object(read?.value) as { message: unknown; code: unknown; data: unknown }
  const isShape = typeof message === 'string' && typeof code === 'number' && typeof data === 'object' && data !== null
  if (!isShape) return notReadable('UNKNOWN')
  const { idempotency, httpStatus } = data as { idempotency?: object; httpStatus?: unknown }
  if (httpStatus !== undefined && httpStatus !== 409) return notReadable('UNKNOWN')
  return typeof idempotency === 'object' && idempotency !== null && 'reason' in idempotency
    ? idempotency
    : 'the stored error'
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** What is left of a value on the wire: no -0, and nothing that is infinite. */
function sent(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
