import { initTRPC, TRPCError } from '@trpc/server'
import fc from 'fast-check'
import superjson from 'superjson'
import { createIdempotency } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { post } from '../support/rawCall.js'
import type { Authed, Context } from '../support/shop.js'
import { proceduresHaveErrors } from '../support/trpcVersion.js'

const db = useDatabase()

/** What the handler returns next; it has no other way to be given values that the test makes up. */
let returned: unknown

function shop(transformer?: typeof superjson) {
  const t = initTRPC.context<Context>().create(transformer === undefined ? {} : { transformer })
  const authed = t.procedure.use(({ next }) => next({ ctx: { user: { id: 'alice' } } }))
  const idempotency = createIdempotency({
    prisma: db.prisma,
    scope: ({ ctx }: { ctx: Authed }) => ctx.user.id,
    ...(transformer !== undefined && { serializer: transformer }),
  })
  return t.router({
    transaction: idempotency.transaction(authed).mutation(() => returned),
    lease: idempotency.lease(authed).mutation(() => returned),
    // What tRPC sends without this library.
    plain: authed.mutation(() => returned),
  })
}

/** Every text that JavaScript has: NUL, lone surrogates and characters outside of the first plane too. */
const anyText = fc.string({ unit: 'binary' })
const hostileText = fc.oneof(
  anyText,
  fc.constantFrom('\0', '\ud800', '\udc00', 'a\ud800b', '\u2028\u2029', '\ufeff', '\\u0000', '"', '__proto__', '💥'),
  fc.array(fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit))).map((units) => units.join('')),
)
const leaf = fc.oneof(hostileText, fc.double(), fc.integer(), fc.boolean(), fc.constant(null), fc.constant(-0))

const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(hostileText, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value

const superJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    // Not one that is none: superjson makes null of it, and forgets where else it stood.
    fc.date({ noInvalidDate: true }),
    fc.bigInt(),
    fc.constantFrom(undefined, Number.NaN, Number.POSITIVE_INFINITY),
    fc.constant(/tea/gi),
    fc.webUrl().map((url) => new URL(url)),
    fc.constant(null).map(() => new TypeError('as a value')),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.uniqueArray(leaf, { maxLength: 4 }).map((items) => new Set(items)),
    fc.array(fc.tuple(leaf, tie('value')), { maxLength: 4 }).map((entries) => new Map(entries)),
    // superjson itself refuses these names of properties.
    fc.dictionary(
      hostileText.filter((name) => !['__proto__', 'constructor', 'prototype'].includes(name)),
      tie('value'),
      { maxKeys: 4, noNullPrototype: true },
    ),
    tie('value').map((shared) => [shared, shared]),
  ),
})).value

test.each([
  ['JSON', undefined, json],
  ['superjson', superjson, superJson],
] as const)(
  'whatever %s carries, a replay has the bytes of the first answer, in both modes',
  async (_, transformer, values) => {
    const url = await serve(shop(transformer))
    const call = async (path: 'transaction' | 'lease' | 'plain', key: string, attempt: number) => {
      const envelope = { '~idempotency': { key, attempt }, '~input': null }
      return post(`${url}/${path}`, transformer === undefined ? envelope : transformer.serialize(envelope))
    }
    await fc.assert(
      fc.asyncProperty(values as fc.Arbitrary<unknown>, async (value) => {
        returned = value
        const plain = await call('plain', v7(), 1)
        for (const path of ['transaction', 'lease'] as const) {
          const key = v7()
          const first = await call(path, key, 1)
          expect(first.status).toBe(200)
          expect(first.text).toBe(plain.text)
          returned = 'something else'
          for (const attempt of [1, 2]) expect(await call(path, key, attempt)).toEqual(first)
          returned = value
        }
      }),
      { numRuns: 120 },
    )
  },
)

test.skipIf(!proceduresHaveErrors)(
  'whatever a final error says, its replay has the bytes of the first answer, in both modes',
  async () => {
    let thrown: TRPCError
    const t = initTRPC.context<Context>().create({
      errorFormatter: ({ shape, error }) => ({
        ...shape,
        data: {
          ...shape.data,
          zod: error.cause instanceof z.ZodError ? z.flattenError(error.cause) : null,
          causes: causesOf(error),
        },
      }),
    })
    const authed = t.procedure.use(({ next }) => next({ ctx: { user: { id: 'alice' } } }))
    const idempotency = createIdempotency({ prisma: db.prisma, scope: ({ ctx }: { ctx: Authed }) => ctx.user.id })
    const storeError = () => true
    const fail = () => {
      throw thrown
    }
    const url = await serve(
      t.router({
        transaction: idempotency.transaction(authed, { storeError }).mutation(fail),
        lease: idempotency.lease(authed, { storeError }).mutation(fail),
      }),
    )
    const cause = fc.oneof(
      hostileText.map((message) => new RangeError(message, { cause: new Error(message) })),
      // Zod's own: what it says of an input with any text in it.
      hostileText.map(
        (text) =>
          z
            .object({ n: z.number() })
            .strict()
            .safeParse({ n: text, [text]: 1 }).error,
      ),
      fc.constant(undefined),
    )
    const code = fc.constantFrom('CONFLICT', 'BAD_REQUEST', 'NOT_FOUND', 'INTERNAL_SERVER_ERROR', 'TOO_MANY_REQUESTS')
    await fc.assert(
      fc.asyncProperty(hostileText, code, cause, async (message, code, cause) => {
        for (const path of ['transaction', 'lease'] as const) {
          const envelope = (attempt: number) => ({ '~idempotency': { key, attempt }, '~input': null })
          const key = v7()
          thrown = new TRPCError({ code, message, cause })
          const first = await post(`${url}/${path}`, envelope(1))
          expect(first.error?.data['code']).toBe(code)
          thrown = new TRPCError({ code: 'FORBIDDEN', message: 'something else' })
          for (const attempt of [1, 2]) expect(await post(`${url}/${path}`, envelope(attempt))).toEqual(first)
        }
      }),
      { numRuns: 60 },
    )
  },
)

/** What a formatter may find below an error: the names and messages of its causes. */
function causesOf(error: Error): string[] {
  const { cause } = error
  return cause instanceof Error ? [`${cause.name}: ${cause.message}`, ...causesOf(cause)] : []
}
