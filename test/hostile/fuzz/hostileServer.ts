import { initTRPC, TRPCError } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { createIdempotency, isIdempotencyError, type RequestHeaders, type Serializer } from 'trpc-idempotency/server'
import { expect, onTestFinished, vi } from 'vitest'
import type { PrismaClient } from '../../../generated/prisma/client.js'
import { listen } from '../../support/httpServer.js'
import { contextOf } from '../../support/httpServerContext.js'
import type { Context } from '../../support/shop.js'
import { endOfErrorFormatter } from '../../support/trpcVersion.js'
import { SECRET } from './arbitraries.js'

export interface HostileServer {
  url: string
  /** How often the handler ran. */
  runs: number
  /** Checks what has to hold of any response to any request, and gives its answers. */
  read(response: Response): Promise<Answer[]>
  /** @throws where something came out of the server that must not, or was changed in its process */
  expectSound(): void
}

/** What a response said of one call. */
export interface Answer {
  result?: { data?: unknown }
  error?: {
    message: string
    code: number
    data: { httpStatus?: number; idempotency?: { reason?: string; attemptOutcome: string } }
  }
}

const AS_IT_IS: Serializer = { serialize: (value) => value, deserialize: (value) => value }

/** A server whose handler tells whom it worked for, and nothing of its input. All that it logs and reports is looked at. */
export async function serveHostile(prisma: PrismaClient, transformer: Serializer = AS_IT_IS): Promise<HostileServer> {
  const t = initTRPC.context<Context>().create({ errorFormatter: endOfErrorFormatter, isDev: false, transformer })
  const idempotency = createIdempotency({
    prisma,
    scope: ({ ctx }: { ctx: { user: { id: string } } }) => ctx.user.id,
    headers: ({ ctx }: { ctx: { headers?: RequestHeaders | undefined } }) => ctx.headers,
    serializer: transformer,
  })
  const authed = t.procedure.use(({ ctx, next }) => {
    if (ctx.user === null) throw new TRPCError({ code: 'UNAUTHORIZED' })
    return next({ ctx: { user: ctx.user } })
  })
  const leaks: string[] = []
  const complain = (texts: unknown[], where: string) => {
    for (const one of texts) if (String(one).includes(SECRET)) leaks.push(`${where}: ${String(one)}`)
  }
  const handler = ({ ctx, input }: { ctx: { user: { id: string } }; input: unknown }) => {
    server.runs += 1
    const { polluted } = Object(input) as { polluted?: unknown }
    if (polluted !== undefined && !Object.hasOwn(Object(input), 'polluted'))
      leaks.push('the input has another prototype')
    return { for: ctx.user.id }
  }
  const anything = (value: unknown) => value
  const router = t.router({
    create: idempotency.transaction(authed).input(anything).mutation(handler),
    other: idempotency.transaction(authed).input(anything).mutation(handler),
    leased: idempotency.lease(authed).input(anything).mutation(handler),
  })
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    const spy = vi.spyOn(console, method).mockImplementation((...texts) => complain(texts, `console.${method}`))
    onTestFinished(() => spy.mockRestore())
  }
  const properties = () =>
    [Object, Array, String, Function].map(({ prototype }) => Object.getOwnPropertyNames(prototype))
  const before = properties()
  const server: HostileServer = {
    url: await listen(
      createHTTPServer({
        router,
        createContext: ({ req }) => contextOf(req),
        onError({ error }) {
          for (let at: unknown = error; at instanceof Error; at = at.cause) {
            if (isIdempotencyError(at)) complain([at.message], 'the message of an error')
          }
        },
      }),
    ),
    runs: 0,
    read: (response) => answersOf(response, transformer),
    expectSound() {
      expect(leaks).toEqual([])
      expect(properties()).toEqual(before)
    },
  }
  return server
}

async function answersOf(response: Response, { deserialize }: Serializer): Promise<Answer[]> {
  const body = await response.text()
  expect(response.status, body.slice(0, 300)).toBeLessThan(500)
  const sent = [JSON.parse(body)].flat() as { error?: unknown; result?: { data?: unknown } }[]
  const answers = sent.map(({ error, result }): Answer => {
    if (error !== undefined) return { error: deserialize(error) }
    return { result: { data: result?.data === undefined ? undefined : deserialize(result.data) } }
  })
  for (const { error } of answers) {
    if (error === undefined) continue
    expect(error.data.httpStatus, body.slice(0, 300)).toBeGreaterThanOrEqual(400)
    expect(error.data.httpStatus, body.slice(0, 300)).toBeLessThan(500)
    // A message of tRPC itself may quote the body that it cannot parse.
    if (error.data.idempotency !== undefined) expect(error.message).not.toContain(SECRET)
  }
  return answers
}
