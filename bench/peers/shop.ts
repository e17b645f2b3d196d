import { PrismaPg } from '@prisma/adapter-pg'
import { type AnyTRPCMutationProcedure, initTRPC } from '@trpc/server'
import { z } from 'zod'
import { PrismaClient } from '../../generated/prisma/client.js'

export interface Context {
  /** From the header `Idempotency-Key`, for those who read it there. */
  key: string
}

export const t = initTRPC.context<Context>().create()

export const OrderInput = z.object({ item: z.string(), cents: z.int() })
export type OrderInput = z.infer<typeof OrderInput>

/** The mutation of every row, before a row adds anything. */
export const orderProcedure = t.procedure.input(OrderInput)

interface Orders<Order> {
  order: { create(args: { data: OrderInput & { customer: string } }): Promise<Order> }
}

/** The work that every row does; the one in bare node-postgres sends the same insert. */
export function createOrder<Order>(db: Orders<Order>, input: OrderInput): Promise<Order> {
  return db.order.create({ data: { customer: 'alice', ...input } })
}

export interface Given {
  databaseUrl: string
  redisUrl: string
}

/** Makes the mutation of one row. */
export type Row = (given: Given) => Promise<AnyTRPCMutationProcedure> | AnyTRPCMutationProcedure

export const POOL = 10

export function adapterFor({ databaseUrl }: Given): PrismaPg {
  return new PrismaPg({ connectionString: databaseUrl, max: POOL })
}

export function clientFor(given: Given): PrismaClient {
  return new PrismaClient({ adapter: adapterFor(given) })
}
