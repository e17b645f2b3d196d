import fc from 'fast-check'
import { headerEntry, readErrorData, readHeaderEntry, unwrap } from 'trpc-idempotency/wire'
import { expect, test } from 'vitest'
import { readDigest } from '../../server/call/octetInput.js'
import { originalInput } from '../../server/call/originalInput.js'
import { checkKey } from '../../server/engine/key.js'
import { checkScope } from '../../server/engine/scope.js'
import { envelope, header, json, key, SECRET } from './fuzz/arbitraries.js'
import { fuzz } from './fuzz/fuzz.js'

test('an envelope of any form is bare, malformed, or one of a text and a whole number', async () => {
  await fuzz({ inputs: envelope, share: 0.2, atATime: 50 }, (inputs) => {
    for (const text of inputs) {
      const raw: unknown = JSON.parse(text)
      const unwrapped = unwrap(raw)
      if (unwrapped.kind === 'enveloped') {
        expect(typeof unwrapped.carried.key).toBe('string')
        expect(Number.isSafeInteger(unwrapped.carried.attempt) && unwrapped.carried.attempt > 0).toBe(true)
        expect(unwrapped.input).not.toBe(raw)
      }
      originalInput(raw)
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})

test('a header of any form is read at each of its places, in no time', async () => {
  await fuzz(
    {
      inputs: fc.tuple(fc.oneof(header, fc.string({ unit: 'binary', maxLength: 200 })), fc.nat(5)),
      share: 0.2,
      atATime: 50,
    },
    (inputs) => {
      const started = performance.now()
      for (const [value, index] of inputs) {
        const entry = readHeaderEntry(value, index)
        if (entry.kind === 'carried') expect(entry.carried.attempt).toBeGreaterThan(0)
        expect(() => readDigest({ 'content-digest': value })).not.toThrow()
      }
      expect(performance.now() - started).toBeLessThan(2000)
    },
  )
})

test('a key of visible characters comes out of the header as it went in', async () => {
  const carried = fc.record({
    key: fc.string({ unit: fc.integer({ min: 32, max: 126 }).map((of) => String.fromCharCode(of)), minLength: 1 }),
    attempt: fc.integer({ min: 1, max: 2 ** 53 - 1 }),
  })
  await fuzz({ inputs: carried, share: 0.05, atATime: 50 }, (inputs) => {
    for (const of of inputs) expect(readHeaderEntry(headerEntry(of), 0)).toEqual({ kind: 'carried', carried: of })
  })
})

test('a list whose value is hostile to expressions is read in no time', () => {
  const hostile = [
    ' '.repeat(100_000),
    ';a'.repeat(50_000),
    '"\\'.repeat(50_000),
    ','.repeat(100_000),
    `"${'\\"'.repeat(50_000)}`,
    ';a="'.repeat(30_000),
    `"k"${' ;a=b'.repeat(20_000)}"`,
  ]
  for (const value of hostile) {
    const started = performance.now()
    for (const index of [0, 1, 99_999]) readHeaderEntry(value, index)
    readDigest({ 'content-digest': value })
    expect(performance.now() - started).toBeLessThan(1000)
  }
})

test('a key or a scope of any form is taken or complained of, and the complaint does not show it', async () => {
  await fuzz({ inputs: key, share: 0.05, atATime: 50 }, (inputs) => {
    for (const of of inputs) {
      const checked = checkKey(of)
      if (checked.ok) expect(checked.birth).toBeGreaterThan(0)
      else expect(checked.complaint).not.toContain(SECRET)
      const scope = checkScope(of)
      if (!scope.ok) expect(scope.complaint).not.toContain(SECRET)
    }
  })
})

test('what an error says of idempotency is read from any data, or nothing is', async () => {
  await fuzz({ inputs: fc.tuple(json, fc.boolean()), share: 0.05, atATime: 50 }, (inputs) => {
    for (const [text, inside] of inputs) {
      const read = readErrorData(inside ? { idempotency: JSON.parse(text) } : JSON.parse(text))
      if (read !== undefined) expect(['EXECUTED', 'NOT_EXECUTED', 'UNKNOWN']).toContain(read.attemptOutcome)
    }
  })
})
