import { createIdempotency } from 'trpc-idempotency/server'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { authed, shopIdempotency } from '../support/shop.js'

const db = useDatabase()

const wrong: [string, Record<string, unknown>, string][] = [
  ['prisma', { prisma: {} }, 'createIdempotency: prisma must be a PrismaClient, got {}'],
  ['prisma', { prisma: undefined }, 'createIdempotency: prisma must be a PrismaClient, got undefined'],
  [
    'scope',
    { scope: 'user' },
    "createIdempotency: scope must be a function from { ctx } to the name of whom the key belongs to, got 'user'",
  ],
  ['retentionMs', { retentionMs: 0 }, 'createIdempotency: retentionMs must be at least 60000, got 0'],
  ['retentionMs', { retentionMs: Number.NaN }, 'createIdempotency: retentionMs must be of type number, got NaN'],
  ['retentionMs', { retentionMs: '72h' }, "createIdempotency: retentionMs must be of type number, got '72h'"],
  ['skewMs', { skewMs: -1 }, 'createIdempotency: skewMs must be at least 0, got -1'],
  ['skewMs', { skewMs: 86_400_001 }, 'createIdempotency: skewMs must be at most 86400000, got 86400001'],
  ['waitMs', { waitMs: 1.5 }, 'createIdempotency: waitMs must be a whole number, got 1.5'],
  ['waitMs', { waitMs: -1 }, 'createIdempotency: waitMs must be at least 0, got -1'],
  ['claimWaitMs', { claimWaitMs: 0 }, 'createIdempotency: claimWaitMs must be at least 1, got 0'],
  [
    'claimWaitMs',
    { claimWaitMs: 500, timeoutMs: 500 },
    'createIdempotency: claimWaitMs must be less than timeoutMs (500), got 500',
  ],
  [
    'timeoutMs',
    { timeoutMs: Number.POSITIVE_INFINITY },
    'createIdempotency: timeoutMs must be of type number, got Infinity',
  ],
  [
    'timeoutMs',
    { timeoutMs: 2_147_483_648 },
    'createIdempotency: timeoutMs must be at most 2147483647, got 2147483648',
  ],
  ['maxWaitMs', { maxWaitMs: 0 }, 'createIdempotency: maxWaitMs must be at least 1, got 0'],
  ['maxResultBytes', { maxResultBytes: 0 }, 'createIdempotency: maxResultBytes must be at least 1, got 0'],
  ['idleWarningMs', { idleWarningMs: 0 }, 'createIdempotency: idleWarningMs must be at least 1, got 0'],
  ['schema', { schema: 'a"; drop table x; --' }, 'createIdempotency: schema must be the name of a Postgres schema'],
  ['serializer', { serializer: {} }, 'createIdempotency: serializer must have the methods serialize and deserialize'],
  ['an unknown option', { retentionMS: 1 }, 'createIdempotency: there is no option retentionMS'],
]

test.each(wrong)('%s: the complaint names option, bound and value', (_, options, complaint) => {
  const given = { prisma: db.prisma, scope: () => 'all', ...options }
  expect(() => createIdempotency(given as never)).toThrow(TypeError)
  expect(() => createIdempotency(given as never)).toThrow(complaint)
})

test('several wrong options are all named', () => {
  const given = { prisma: db.prisma, scope: () => 'all', waitMs: -1, skewMs: 'x' }
  expect(() => createIdempotency(given as never)).toThrow(/waitMs must be at least 0.*\n?.*skewMs|skewMs.*\n?.*waitMs/)
})

const wrongForOne: [string, Record<string, unknown>, string][] = [
  ['waitMs', { waitMs: -1 }, 'transaction: waitMs must be at least 0, got -1'],
  ['an option of createIdempotency', { retentionMs: 1 }, 'transaction: there is no option retentionMs'],
  ['claimWaitMs', { claimWaitMs: 5000 }, 'transaction: claimWaitMs must be less than timeoutMs (5000), got 5000'],
]

test.each(wrongForOne)('%s of one procedure: the complaint names option, bound and value', (_, options, complaint) => {
  const idempotency = shopIdempotency(db.prisma)
  expect(() => idempotency.transaction(authed, options as never)).toThrow(complaint)
})
