import type { TRPCLink } from '@trpc/client'
import { type IdempotencyLinkOptions, idempotencyLink } from 'trpc-idempotency/client'
import { z } from 'zod'
import { t } from './shop.js'

const shop = t.router({
  create: t.procedure.input(z.unknown()).mutation((): unknown => null),
  cancel: t.procedure.input(z.unknown()).mutation((): unknown => null),
  look: t.procedure.query((): unknown => null),
})

/** A router whose server is scripted: it knows nothing of idempotency, so no mutation of it is marked. */
export type Shop = typeof shop

/** The link for such a router: its options are not checked by path. */
export function untyped(
  options: Omit<IdempotencyLinkOptions<never>, 'mutations'> & { mutations: unknown },
): TRPCLink<Shop> {
  return idempotencyLink<Shop>(options as IdempotencyLinkOptions<Shop>)
}
