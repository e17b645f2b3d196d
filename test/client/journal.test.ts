import { createTRPCClient, httpLink } from '@trpc/client'
import superjson from 'superjson'
import { idempotencyErrorOf, isOutcomeUnknown } from 'trpc-idempotency/client'
import {
  type IntentStore,
  intentJournal,
  type JournalEvent,
  type JournalOptions,
  resumeIntents,
  type StoredIntent,
} from 'trpc-idempotency/journal'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { caught } from '../support/caught.js'
import { failure, startScriptedServer, success } from '../support/scriptedServer.js'
import { type Shop, untyped } from '../support/untypedClient.js'

const BUSY = failure(-32603, { code: 'SERVICE_UNAVAILABLE' })

/** A store of three functions, as an application writes one: it keeps JSON, and outlives the pages of this test. */
function createStore(faults: Partial<IntentStore> = {}) {
  const kept = new Map<string, string>()
  const store: IntentStore = {
    write: async (intent) => void kept.set(intent.key, JSON.stringify(intent)),
    remove: async (key) => void kept.delete(key),
    readAll: async () => [...kept.values()].map((text) => JSON.parse(text) as StoredIntent),
    ...faults,
  }
  return { kept, store, intents: () => [...kept.values()].map((text) => JSON.parse(text) as StoredIntent) }
}

/** What a reload makes anew: the journal, the link and the client, over what is kept. */
function page(url: string, store: IntentStore, options: Partial<JournalOptions> & { maxAttempts?: number } = {}) {
  const { maxAttempts = 1, ...rest } = options
  const events: JournalEvent[] = []
  const journal = intentJournal('shop', store, {
    owner: () => 'alice',
    onEvent: (event) => events.push(event),
    ...rest,
  })
  const client = createTRPCClient<Shop>({
    links: [
      untyped({ mutations: { create: true, cancel: true }, maxAttempts, baseDelayMs: 1, journal }),
      httpLink({ url, ...(rest.transformer && ({ transformer: rest.transformer } as object)) }),
    ],
  })
  return { create: client.create, cancel: client.cancel, journal, events, resume: () => resumeIntents(client, journal) }
}

const sent = (requests: { path: string; body: string }[]) =>
  requests.map(({ path, body }) => {
    const read = JSON.parse(body) as { '~idempotency': { key: string; attempt: number }; '~input': unknown }
    return { path, input: read['~input'], ...read['~idempotency'] }
  })

test('an intent is written before it is first sent, and removed once its outcome is known', async () => {
  const server = await startScriptedServer([success('done')])
  const order: string[] = []
  const { kept, store } = createStore()
  const watched: IntentStore = {
    ...store,
    async write(intent) {
      order.push(`write after ${server.requests.length} requests`)
      await store.write(intent)
      order.push(JSON.stringify({ ...intent, key: intent.key.length }))
    },
    async remove(key) {
      order.push(`remove after ${server.requests.length} requests`)
      await store.remove(key)
    },
  }
  expect(await page(server.url, watched).create.mutate({ item: 'tea' })).toBe('done')
  expect(order).toEqual([
    'write after 0 requests',
    '{"key":36,"path":"create","input":{"item":"tea"},"owner":"alice"}',
    'remove after 1 requests',
  ])
  expect(kept.size).toBe(0)
})

test('one that failed for good is removed; one whose outcome is unknown stays', async () => {
  const server = await startScriptedServer([failure(-32009, { code: 'CONFLICT' }), BUSY])
  const { kept, store, intents } = createStore()
  const { create } = page(server.url, store)
  await caught(create.mutate({ n: 1 }))
  expect(kept.size).toBe(0)
  const error = await caught(create.mutate({ n: 2 }))
  expect(intents()).toEqual([{ key: idempotencyErrorOf(error)?.key, path: 'create', input: { n: 2 }, owner: 'alice' }])
})

test('what a page left is sent by the next one: with the same keys, oldest first, one after the other', async () => {
  const server = await startScriptedServer([BUSY, BUSY, success('one'), success('two'), success('three')])
  const { kept, store } = createStore()
  const before = page(server.url, store)
  const first = idempotencyErrorOf(await caught(before.create.mutate({ n: 1 })))?.key
  const second = idempotencyErrorOf(await caught(before.cancel.mutate({ n: 2 })))?.key
  const after = page(server.url, store)
  expect(await after.resume()).toEqual([
    { key: first, path: 'create', input: { n: 1 }, outcome: 'EXECUTED', answer: 'one' },
    { key: second, path: 'cancel', input: { n: 2 }, outcome: 'EXECUTED', answer: 'two' },
  ])
  expect(sent(server.requests).slice(2)).toEqual([
    { path: '/create', input: { n: 1 }, key: first, attempt: 1 },
    { path: '/cancel', input: { n: 2 }, key: second, attempt: 1 },
  ])
  expect(kept.size).toBe(0)
  expect(await after.resume()).toEqual([])
})

test('inputs go through the transformer, so that what comes back is what was sent', async () => {
  const server = await startScriptedServer([BUSY, success(superjson.serialize('done'))])
  const { store } = createStore()
  const transformer = superjson
  const input = { at: new Date(0), cents: 350n, tags: new Set(['a']), nothing: undefined }
  await caught(page(server.url, store, { transformer }).create.mutate(input))
  const [resumed] = await page(server.url, store, { transformer }).resume()
  expect(resumed?.input).toEqual(input)
  const bodies = server.requests.map(({ body }) => body)
  expect(bodies[1]).toBe(bodies[0])
})

test('an intent of somebody else stays, is not sent, and an event tells', async () => {
  const server = await startScriptedServer([BUSY, success('done')])
  const { store, intents } = createStore()
  await caught(page(server.url, store).create.mutate({ n: 1 }))
  const [{ key } = { key: '' }] = intents()
  const bobs = page(server.url, store, { owner: () => 'bob' })
  expect(await bobs.resume()).toEqual([])
  expect(bobs.events).toEqual([{ type: 'foreign', path: 'create', key }])
  expect(server.requests).toHaveLength(1)
  // She comes back.
  expect(await page(server.url, store).resume()).toMatchObject([{ key, outcome: 'EXECUTED' }])
})

test('a retry stops where somebody else has signed in meanwhile, and the intent stays for whom it belongs to', async () => {
  const server = await startScriptedServer([BUSY, success('done')])
  const { store, intents } = createStore()
  const owner = () => (server.requests.length > 0 ? 'bob' : 'alice')
  const { create } = page(server.url, store, { maxAttempts: 3, owner })
  const error = await caught(create.mutate({ n: 1 }))
  expect(error.message).toContain('create: somebody else is signed in now, so it is not sent again.')
  expect(isOutcomeUnknown(error)).toBe(true)
  expect(server.requests).toHaveLength(1)
  expect(intents()).toMatchObject([{ owner: 'alice' }])
})

test('of several that are resumed, none is sent as another user’s who signs in between', async () => {
  const server = await startScriptedServer([BUSY, BUSY, success('done')])
  const { store, intents } = createStore()
  const before = page(server.url, store)
  await caught(before.create.mutate({ n: 1 }))
  await caught(before.create.mutate({ n: 2 }))
  const after = page(server.url, store, { owner: () => (server.requests.length > 2 ? 'bob' : 'alice') })
  expect(await after.resume()).toMatchObject([
    { input: { n: 1 }, outcome: 'EXECUTED' },
    { input: { n: 2 }, outcome: 'UNKNOWN' },
  ])
  expect(server.requests).toHaveLength(3)
  expect(intents()).toMatchObject([{ input: { n: 2 }, owner: 'alice' }])
})

test('one that the server has forgotten ends as UNKNOWN, with its input, under its own key, and stays until the user decides', async () => {
  const data = { idempotency: { reason: 'KEY_TOO_OLD', attemptOutcome: 'NOT_EXECUTED', serverTimeMs: Date.now() } }
  const server = await startScriptedServer([failure(-32012, data)])
  const { kept, store } = createStore()
  const key = v7({ msecs: Date.now() - 90 * 86_400_000 })
  await store.write({ key, path: 'create', input: { n: 1 }, owner: 'alice' })
  const after = page(server.url, store, { maxAttempts: 5 })
  expect(await after.resume()).toMatchObject([{ key, path: 'create', input: { n: 1 }, outcome: 'UNKNOWN' }])
  expect(sent(server.requests).map((request) => request.key)).toEqual([key])
  expect(kept.size).toBe(1)
  await after.journal.forget(key)
  expect(kept.size).toBe(0)
})

test('a resumed intent that the application refuses stays unknown: an earlier page may have had it executed', async () => {
  const server = await startScriptedServer([failure(-32009, { code: 'CONFLICT' })])
  const { kept, store } = createStore()
  await store.write({ key: v7(), path: 'create', input: {}, owner: 'alice' })
  expect(await page(server.url, store).resume()).toMatchObject([{ outcome: 'UNKNOWN' }])
  expect(kept.size).toBe(1)
})

test('a resumed intent whose error is stored as the answer is known, and no longer kept', async () => {
  const data = { code: 'CONFLICT', idempotency: { attemptOutcome: 'NOT_EXECUTED', final: true } }
  const server = await startScriptedServer([failure(-32009, data)])
  const { kept, store } = createStore()
  await store.write({ key: v7(), path: 'create', input: {}, owner: 'alice' })
  expect(await page(server.url, store).resume()).toMatchObject([{ outcome: 'NOT_EXECUTED' }])
  expect(kept.size).toBe(0)
})

test('what this page is sending itself is not resumed by it; what it gave up is', async () => {
  const server = await startScriptedServer(['hang', BUSY, success('done')])
  const { store } = createStore()
  const one = page(server.url, store)
  const controller = new AbortController()
  const answer = caught(one.create.mutate({}, { signal: controller.signal }))
  await expect.poll(() => server.requests.length).toBe(1)
  expect(await one.resume()).toEqual([])
  controller.abort()
  await answer
  expect(await one.resume()).toMatchObject([{ outcome: 'UNKNOWN' }])
  expect(await one.resume()).toMatchObject([{ outcome: 'EXECUTED', answer: 'done' }])
})

const full = new DOMException('The quota has been exceeded.', 'QuotaExceededError')
test.each<[string, Partial<IntentStore>, string]>([
  ['full', { write: () => Promise.reject(full) }, 'The quota has been exceeded.'],
  ['blocked', { write: () => new Promise(() => undefined) }, 'the store did not answer within 50 ms'],
])(
  'a store that is %s: an event tells, and the mutation is sent or refused as the policy says',
  async (_, faults, message) => {
    const server = await startScriptedServer([success('done')])
    const { store } = createStore(faults)
    const options = { storeTimeoutMs: 50 }
    const sending = page(server.url, store, options)
    expect(await sending.create.mutate({})).toBe('done')
    expect(sending.events).toEqual([
      { type: 'unwritten', path: 'create', key: expect.any(String), error: expect.objectContaining({ message }) },
    ])
    const refusing = page(server.url, store, { ...options, unwritten: 'refuse' })
    const error = await caught(refusing.create.mutate({}))
    expect(error.message).toBe(`create: it was not sent, because its journal failed: ${message}`)
    expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 0, outcome: 'NOT_EXECUTED' })
    expect(refusing.events).toHaveLength(1)
    expect(server.requests).toHaveLength(1)
  },
)

test('what is kept and is no intent is told, stays, and does not keep the others from being sent', async () => {
  const server = await startScriptedServer([success('done')])
  const { kept, store } = createStore()
  const strange = [null, 'text', { key: 'short', path: 'create', owner: 'alice' }, { key: v7(), owner: 'alice' }]
  for (const [index, found] of strange.entries()) kept.set(String(index), JSON.stringify(found))
  const unreadable = {
    key: v7(),
    path: 'create',
    input: { json: 1, meta: { values: { a: ['nope'] } } },
    owner: 'alice',
  }
  const good = { key: v7(), path: 'create', input: { json: { n: 1 } }, owner: 'alice' }
  await store.write(unreadable)
  await store.write(good)
  const transformer = {
    serialize: superjson.serialize,
    deserialize(value: { json: unknown }) {
      if (value.json === 1) throw new Error('of another version')
      return superjson.deserialize(value as never)
    },
  }
  const after = page(server.url, store, { transformer })
  await after.resume()
  expect(after.events).toEqual([...strange, unreadable].map((found) => ({ type: 'corrupt', found })))
  expect(server.requests).toHaveLength(1)
  expect(kept.size).toBe(strange.length + 1)
})

test('a store that cannot be read, or not be cleared, is told, and nothing breaks', async () => {
  const broken = () => Promise.reject(new Error('broken'))
  const server = await startScriptedServer([success('done')])
  const { store } = createStore({ readAll: broken, remove: broken })
  const one = page(server.url, store)
  expect(await one.resume()).toEqual([])
  expect(await one.create.mutate({})).toBe('done')
  await expect.poll(() => one.events.length).toBe(2)
  expect(one.events).toMatchObject([{ type: 'unreadable' }, { type: 'unremoved' }])
})

test('the inputs of excluded paths are never written; forms and bytes are not kept, and an event tells', async () => {
  const server = await startScriptedServer([BUSY])
  const { kept, store } = createStore()
  const one = page(server.url, store, { exclude: ['create'] })
  await caught(one.create.mutate({ card: '4242' }))
  expect([kept.size, one.events]).toEqual([0, []])
  await caught(one.cancel.mutate(new FormData()))
  expect(kept.size).toBe(0)
  expect(one.events).toMatchObject([{ type: 'unwritten', path: 'cancel' }])
})

test('an observer of the journal that throws changes nothing, and a journal without an owner is refused', async () => {
  const server = await startScriptedServer([success('done')])
  const { store } = createStore({ write: () => Promise.reject(full) })
  const onEvent = () => {
    throw new Error('of the observer')
  }
  expect(await page(server.url, store, { onEvent }).create.mutate({})).toBe('done')
  expect(() => intentJournal('shop', store, {} as JournalOptions)).toThrow('owner must be a function')
})
