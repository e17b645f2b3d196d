import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { idempotencyLink } from 'trpc-idempotency/client'
import { v7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.js'
import { prisma } from '../../prisma/dev/prismaCli.js'
import { serve } from '../support/httpServer.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'
import { type CreatedDatabase, createDatabase } from './createDatabase.js'

const OURS = path.resolve(import.meta.dirname, '../../prisma/schema/idempotency.prisma')

/** What stands in the schema of somebody who copies our file beside it. */
const THEIRS = `
datasource db {
  provider = "postgresql"
}

generator client {
  provider = "prisma-client"
  output   = "./generated"
}

model Order {
  id        Int      @id @default(autoincrement())
  customer  String
  item      String
  cents     Int
  createdAt DateTime @default(now()) @map("created_at") @db.Timestamptz(3)

  @@map("orders")
}
`

let schema: string
let database: CreatedDatabase

beforeAll(async () => {
  schema = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-schema-'))
  writeFileSync(path.join(schema, 'schema.prisma'), THEIRS)
  cpSync(OURS, path.join(schema, 'idempotency.prisma'))
  database = await createDatabase()
})

afterAll(async () => {
  rmSync(schema, { recursive: true, force: true })
  await database.drop()
})

test('idempotency.prisma stands beside the models of an application that knows nothing of it', async () => {
  expect(await prisma(['validate', '--schema', schema])).toMatch(/(is|are) valid/)
})

test('on the tables that Prisma makes of idempotency.prisma alone, a first call executes and its repeat replays', async () => {
  const script = path.join(schema, 'migration.sql')
  await prisma(['migrate', 'diff', '--from-empty', '--to-schema', schema, '--script', '-o', script], database.url)
  await database.query(readFileSync(script, 'utf8'))
  const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: database.pooledUrl, max: 2 }) })
  try {
    const { create } = await shop(client)
    const key = v7()

    const first = await create(key)
    const repeat = await create(key)
    const other = await create(v7())

    expect([first, repeat, other]).toEqual([{ id: 1 }, { id: 1 }, { id: 2 }])
    expect(await database.query('select id, customer, item, cents from orders order by id')).toEqual([
      { id: 1, customer: 'alice', item: 'tea', cents: 350 },
      { id: 2, customer: 'alice', item: 'tea', cents: 350 },
    ])
  } finally {
    await client.$disconnect()
  }
})

async function shop(prismaClient: PrismaClient) {
  const router = t.router({
    create: shopIdempotency(prismaClient)
      .transaction(authed)
      .input(OrderInput)
      .mutation(async ({ ctx, input }) => {
        const { id } = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
        return { id }
      }),
  })
  const url = await serve(router)
  const client = createTRPCClient<typeof router>({
    links: [
      idempotencyLink<typeof router>({ mutations: { create: true } }),
      httpBatchLink({ url, headers: { 'x-user': 'alice' } }),
    ],
  })
  return {
    create: (key: string) => client.create.mutate({ item: 'tea', cents: 350 }, { context: { idempotencyKey: key } }),
  }
}
