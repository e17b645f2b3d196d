import { expect, test } from 'vitest'
import { untyped } from '../support/untypedClient.js'

const wrong: [Record<string, unknown>, string][] = [
  [
    { mutations: undefined },
    "idempotencyLink: mutations must be 'all' or an object of paths such as { 'order.create': true }, got undefined",
  ],
  [{ mutations: 'some' }, "got 'some'"],
  [{ mutations: ['create'] }, 'got an array'],
  [{ mutations: { create: false } }, "idempotencyLink: mutations['create'] must be true or an object, got false"],
  [
    { mutations: { create: { maxAttempts: 0 } } },
    "idempotencyLink: mutations['create'].maxAttempts must be a whole number from 1 to 100, got 0",
  ],
  [{ carrier: 'body' }, "idempotencyLink: carrier must be 'input' or 'header', got 'body'"],
  [{ maxAttempts: 0 }, 'idempotencyLink: maxAttempts must be a whole number from 1 to 100, got 0'],
  [{ maxAttempts: 101 }, 'got 101'],
  [{ maxAttempts: 1.5 }, 'got 1.5'],
  [{ maxAttempts: Number.NaN }, 'got NaN'],
  [{ maxAttempts: '3' }, "got '3'"],
  [{ attemptTimeoutMs: 0 }, 'idempotencyLink: attemptTimeoutMs must be a whole number from 1 to 2147483647, got 0'],
  [{ attemptTimeoutMs: Number.POSITIVE_INFINITY }, 'got Infinity'],
  [{ baseDelayMs: -1 }, 'idempotencyLink: baseDelayMs must be a whole number from 0 to 2147483647, got -1'],
  [
    { maxDelayMs: 2_147_483_648 },
    'idempotencyLink: maxDelayMs must be a whole number from 0 to 2147483647, got 2147483648',
  ],
]

test.each(wrong)('%o: the complaint names option, bound and value', (options, complaint) => {
  expect(() => untyped({ mutations: 'all', ...options })).toThrow(TypeError)
  expect(() => untyped({ mutations: 'all', ...options })).toThrow(complaint)
})
