import { createTRPCClient, httpLink, loggerLink, retryLink, type TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { type IdempotencyEvent, idempotencyErrorOf, isOutcomeUnknown } from 'trpc-idempotency/client'
import { afterEach, expect, test, vi } from 'vitest'
import { carriedIn } from '../support/carriedIn.js'
import { caught } from '../support/caught.js'
import { failure, type Scripted, startScriptedServer, success } from '../support/scriptedServer.js'
import { type Shop, untyped } from '../support/untypedClient.js'

const BUSY = failure(-32603, { code: 'SERVICE_UNAVAILABLE' })
const CONFLICT = failure(-32009, { code: 'CONFLICT' })
const withHeader = (header: string): Scripted => ({
  ...(BUSY as Exclude<Scripted, 'hang'>),
  headers: { 'retry-after': header },
})

function client(
  url: string,
  options: Record<string, unknown> = {},
  { above, below }: { above?: TRPCLink<Shop>; below?: TRPCLink<Shop> } = {},
) {
  const { create } = createTRPCClient<Shop>({
    links: [
      ...(above === undefined ? [] : [above]),
      untyped({ mutations: { create: true }, baseDelayMs: 1, ...options }),
      ...(below === undefined ? [] : [below]),
      httpLink({ url }),
    ],
  })
  return (context: Record<string, unknown> = {}) => create.mutate({}, { context })
}

/** What is told, without its key and path. */
function listener() {
  const told: unknown[] = []
  const onEvent = ({ key, path, ...event }: IdempotencyEvent) => {
    expect([key.length, path]).toEqual([36, 'create'])
    told.push('error' in event ? { ...event, error: event.error.message } : event)
  }
  return { told, onEvent }
}

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

test('a delay that the header Retry-After names in seconds is kept', async () => {
  const server = await startScriptedServer([withHeader('1'), success('done')])
  const { told, onEvent } = listener()
  expect(await client(server.url, { onEvent })()).toBe('done')
  const [first, second] = server.requests
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1000)
  expect(told[1]).toMatchObject({ type: 'delay', delayMs: expect.any(Number) })
})

test.each([
  ['a date, two seconds from now', () => new Date(Date.now() + 2000).toUTCString(), 500, 2001],
  ['more than maxDelayMs, which caps it', () => '3600', 5000, 5001],
  ['a date that is over', () => new Date(0).toUTCString(), 0, 1],
  ['nothing that can be read', () => 'soon', 0, 1],
])('where it names %s, the delay is of that length', async (...[, header, least, most]) => {
  const server = await startScriptedServer([withHeader(header())])
  const { told, onEvent } = listener()
  const controller = new AbortController()
  const { create } = createTRPCClient<Shop>({
    links: [
      untyped({
        mutations: { create: true },
        baseDelayMs: 1,
        maxDelayMs: 5000,
        maxAttempts: 2,
        onEvent(event) {
          onEvent(event)
          // What comes after the delay is not waited for.
          if (event.type === 'delay') controller.abort()
        },
      }),
      httpLink({ url: server.url }),
    ],
  })
  await caught(create.mutate({}, { signal: controller.signal }))
  const { delayMs } = told[1] as { delayMs: number }
  expect(delayMs).toBeGreaterThanOrEqual(least)
  expect(delayMs).toBeLessThanOrEqual(most)
})

test('every attempt, delay and end is told, in order', async () => {
  const server = await startScriptedServer([BUSY, success('done'), BUSY, CONFLICT])
  const { told, onEvent } = listener()
  const mutate = client(server.url, { onEvent })
  await mutate()
  await caught(mutate())
  const delay = { type: 'delay', delayMs: expect.any(Number), error: 'as scripted' }
  expect(told).toEqual([
    { type: 'attempt', attempt: 1 },
    { ...delay, attempt: 1 },
    { type: 'attempt', attempt: 2 },
    { type: 'success', attempt: 2 },
    { type: 'attempt', attempt: 1 },
    { ...delay, attempt: 1 },
    { type: 'attempt', attempt: 2 },
    { type: 'give up', attempt: 2, error: 'as scripted' },
  ])
})

test('the error of an end that is told has what is known of the intent', async () => {
  const server = await startScriptedServer([CONFLICT])
  let known: unknown
  const onEvent = (event: IdempotencyEvent) => {
    if (event.type === 'give up') known = idempotencyErrorOf(event.error)
  }
  const error = await caught(client(server.url, { onEvent })())
  expect(known).toEqual(idempotencyErrorOf(error))
  expect(known).toMatchObject({ attempts: 1, outcome: 'NOT_EXECUTED' })
})

test('an observer that throws is logged, and changes nothing', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const server = await startScriptedServer([BUSY, success('done')])
  const onEvent = () => {
    throw new Error('of the observer')
  }
  expect(await client(server.url, { onEvent })()).toBe('done')
  expect(server.requests).toHaveLength(2)
  expect(logged).toHaveBeenCalledTimes(4)
})

test('after deadlineMs a call ends, with the last error and what is known, whatever is left to try', async () => {
  const server = await startScriptedServer([BUSY, 'hang'])
  const error = await caught(client(server.url, { deadlineMs: 300, attemptTimeoutMs: 60_000 })())
  expect(error.message).toBe('as scripted')
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 2, outcome: 'UNKNOWN', attemptOutcome: 'UNKNOWN' })
})

test('calls that have ended leave no timer behind, which would keep a process alive', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  // Without a network, whose connections have timers of their own.
  const answering: TRPCLink<Shop> = () => () =>
    observable((observer) => {
      observer.next({ result: { type: 'data', data: 'done' } })
      observer.complete()
    })
  const { create } = createTRPCClient<Shop>({ links: [untyped({ mutations: { create: true } }), answering] })
  const before = timers()
  await Promise.all(Array.from({ length: 50 }, () => create.mutate({})))
  expect(timers()).toBeLessThan(before + 50)
})

test('a deadline that ends the first attempt says so', async () => {
  const server = await startScriptedServer(['hang'])
  const error = await caught(client(server.url, { mutations: { create: { deadlineMs: 100 } } })())
  expect(error.message).toBe('create: no answer within 100 ms')
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 1, outcome: 'UNKNOWN' })
})

test('a deadline that ends a delay after a refusal keeps what the refusal said', async () => {
  const data = { idempotency: { reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED', retryAfterMs: 5000 } }
  const server = await startScriptedServer([failure(-32603, data)])
  const error = await caught(client(server.url, { deadlineMs: 200 })())
  expect(idempotencyErrorOf(error)).toMatchObject({ reason: 'STORE_UNAVAILABLE', outcome: 'NOT_EXECUTED' })
})

test('all mutations of a client retry from one budget, and another client has its own', async () => {
  const server = await startScriptedServer([BUSY])
  const mutate = client(server.url, { retryBudget: 3, maxAttempts: 3 })
  for (const _ of [1, 2, 3]) await caught(mutate())
  // Three first attempts, and three retries in all.
  expect(server.requests).toHaveLength(6)
  await caught(client(server.url, { retryBudget: 3, maxAttempts: 3 })())
  expect(server.requests).toHaveLength(9)
})

test('the budget comes back with time', async () => {
  const clock = vi.spyOn(performance, 'now')
  const at = performance.now()
  clock.mockReturnValue(at)
  const { retryBudget } = await import('../../client/budget.js')
  const budget = retryBudget(6)
  const spend = (times: number) => Array.from({ length: times }, () => budget.spend())
  expect(spend(7)).toEqual([true, true, true, true, true, true, false])
  clock.mockReturnValue(at + 9_000)
  expect(spend(1)).toEqual([false])
  clock.mockReturnValue(at + 21_000)
  expect(spend(3)).toEqual([true, true, false])
  clock.mockReturnValue(at + 3_600_000)
  expect(spend(7)).toEqual([true, true, true, true, true, true, false])
})

/** Makes this process a browser, as far as a link can tell. */
function offlineBrowser() {
  const browser = new EventTarget()
  const navigator = { onLine: false }
  vi.stubGlobal('navigator', navigator)
  vi.stubGlobal('addEventListener', browser.addEventListener.bind(browser))
  vi.stubGlobal('removeEventListener', browser.removeEventListener.bind(browser))
  return {
    comeBack() {
      navigator.onLine = true
      browser.dispatchEvent(new Event('online'))
    },
  }
}

test('while the browser is offline nothing is sent; once it is back, the intent is', async () => {
  const browser = offlineBrowser()
  const server = await startScriptedServer([success('done')])
  const { told, onEvent } = listener()
  const answer = client(server.url, { onEvent })()
  expect(told).toEqual([{ type: 'offline', attempt: 0 }])
  browser.comeBack()
  expect(await answer).toBe('done')
  expect(server.requests).toHaveLength(1)
})

test('a call that is aborted while the browser is offline was not executed, and is not sent later', async () => {
  const browser = offlineBrowser()
  const server = await startScriptedServer([success('done')])
  const controller = new AbortController()
  const { create } = createTRPCClient<Shop>({
    links: [untyped({ mutations: { create: true } }), httpLink({ url: server.url })],
  })
  const answer = caught(create.mutate({}, { signal: controller.signal }))
  controller.abort()
  const error = await answer
  expect(error.message).toBe('create was aborted: it was not executed.')
  expect(isOutcomeUnknown(error)).toBe(false)
  browser.comeBack()
  await client(server.url)()
  expect(server.requests).toHaveLength(1)
})

test('a call whose deadline is over while the browser is offline is not sent when it is back', async () => {
  const browser = offlineBrowser()
  const server = await startScriptedServer([success('done')])
  const error = await caught(client(server.url, { deadlineMs: 20 })())
  expect(error.message).toBe('create: no answer within 20 ms')
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 0, outcome: 'NOT_EXECUTED' })
  browser.comeBack()
  await client(server.url)()
  expect(server.requests).toHaveLength(1)
})

test('isOutcomeUnknown tells whether a mutation that failed may have been executed', async () => {
  const server = await startScriptedServer([BUSY, CONFLICT])
  const mutate = client(server.url, { maxAttempts: 1 })
  expect(isOutcomeUnknown(await caught(mutate()))).toBe(true)
  expect(isOutcomeUnknown(await caught(mutate()))).toBe(false)
  for (const other of [undefined, null, 'text', new Error('of somebody else')]) {
    expect(isOutcomeUnknown(other)).toBe(false)
  }
})

test('with maxAttempts: 1 the link above owns the retries', async () => {
  const server = await startScriptedServer([BUSY, success('done')])
  const above = retryLink<Shop>({ retry: ({ attempts }) => attempts < 3 })
  expect(await client(server.url, { maxAttempts: 1 }, { above })()).toBe('done')
  expect(server.requests).toHaveLength(2)
})

test('where a link below retries as well, the numbers multiply, with one key, and a developer is warned once', async () => {
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  const server = await startScriptedServer([BUSY])
  const below = retryLink<Shop>({ retry: ({ attempts }) => attempts < 3, retryDelayMs: () => 20 })
  const mutate = client(server.url, { maxAttempts: 2 }, { below })
  await caught(mutate())
  const sent = server.requests.map(carriedIn)
  expect(sent.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 2, 2, 2])
  expect(new Set(sent.map(({ key }) => key)).size).toBe(1)
  await caught(mutate())
  expect(warned.mock.calls).toEqual([
    [
      'idempotencyLink: a link below it retries create too, so the numbers of attempts multiply. Let one of the two retry: remove retryLink, or put it above and set maxAttempts: 1 here.',
    ],
  ])
})

test('links below that look at an operation, copy it or delay it are no reason to warn', async () => {
  const warned = vi.spyOn(console, 'warn')
  const server = await startScriptedServer([BUSY, success('done')])
  const delaying: TRPCLink<Shop> =
    () =>
    ({ op, next }) =>
      observable((observer) => {
        const timer = setTimeout(() => next({ ...op }).subscribe(observer), 10)
        return () => clearTimeout(timer)
      })
  for (const below of [loggerLink<Shop>({ console: { log: () => undefined, error: () => undefined } }), delaying]) {
    server.requests.length = 0
    expect(await client(server.url, {}, { below })()).toBe('done')
    expect(server.requests).toHaveLength(2)
  }
  expect(warned).not.toHaveBeenCalled()
})

test('in production options are not checked, and what is wrong with them fails safe', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  const server = await startScriptedServer([BUSY])
  await caught(client(server.url, { maxAttempts: Number.NaN })())
  expect(server.requests).toHaveLength(1)
  vi.unstubAllEnvs()
})
