import type { Mutation, QueryClient } from '@tanstack/react-query'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import { idempotencyLink } from 'trpc-idempotency/client'
import { bindIdempotency, type HeldIntent, retryIntent, useIntent } from 'trpc-idempotency/react-query'
import { createIdempotency, type IdempotencyContext, type TransactionClient } from 'trpc-idempotency/server'
import { type IdempotencyErrorData, REASONS, type Reason } from 'trpc-idempotency/wire'
import { z } from 'zod'
import type { PrismaClient } from '../../../generated/prisma/client.js'
import { type AppRouter, authed, t } from './shop.js'

// What is said here is said to the compiler: the file is checked and never run.

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_Claim extends true>(): void => undefined

// Other clients are written by the table and the error data.
export const sendAgain = ({ reason }: IdempotencyErrorData): boolean =>
  reason !== undefined && REASONS[reason].sameKeyAgain === 'after a delay'
holds<Same<Reason, keyof typeof REASONS>>()

declare const prisma: PrismaClient
const idempotency = createIdempotency({ prisma, scope: ({ ctx }: { ctx: { user: { id: string } } }) => ctx.user.id })

// Context, input and output keep their types through the wrapper.
export const wrapped = idempotency
  .transaction(authed.input(z.object({ id: z.string().transform(Number) })))
  .output(z.object({ at: z.date() }))
  .mutation(({ ctx, input }) => {
    holds<Same<typeof ctx.user, { id: string }>>()
    holds<Same<typeof ctx.tx, TransactionClient<PrismaClient>>>()
    holds<Same<typeof ctx.idempotency, IdempotencyContext>>()
    holds<Same<typeof input, { id: number }>>()
    return { at: new Date(0) }
  })

// A context that lacks what the scope needs does not compile.
// @ts-expect-error
idempotency.transaction(t.procedure)

holds<Same<inferRouterInputs<AppRouter>['order']['create'], { item: string; cents: number }>>()
holds<Same<inferRouterOutputs<AppRouter>['order']['create'], { id: number; key: string }>>()

// The link knows which mutations are idempotent on the server, and takes exactly these.
idempotencyLink<AppRouter>({ mutations: { 'order.create': true } })
idempotencyLink<AppRouter>({ mutations: { 'order.create': { maxAttempts: 8 } } })
// @ts-expect-error order.create is missing
idempotencyLink<AppRouter>({ mutations: {} })
// @ts-expect-error order.forget is not idempotent
idempotencyLink<AppRouter>({ mutations: { 'order.create': true, 'order.forget': true } })
// @ts-expect-error not every mutation is idempotent
idempotencyLink<AppRouter>({ mutations: 'all' })

// TanStack Query's own types fit, and a form keeps those of its input and its answer.
declare const queryClient: QueryClient
declare const mutation: Mutation<{ id: number }, Error, { item: string }>
export const unbind: () => void = bindIdempotency(queryClient, { owner: () => 'alice' })
// @ts-expect-error an owner is a function, which is asked again before every attempt
bindIdempotency(queryClient, { owner: 'alice' })
holds<Same<ReturnType<typeof retryIntent<{ id: number }, Error, { item: string }, unknown>>, Promise<{ id: number }>>>()
export const again: Promise<{ id: number }> = retryIntent(mutation)
export function useOrder() {
  const form = useIntent(async (input: { item: string }) => ({ id: input.item.length }))
  holds<Same<typeof form, Omit<HeldIntent<{ item: string }, { id: number }>, 'subscribe'>>>()
  return form
}
