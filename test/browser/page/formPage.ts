import { createTRPCClient, httpBatchLink } from '@trpc/client'
import superjson from 'superjson'
import { idempotencyLink, isOutcomeUnknown } from 'trpc-idempotency/client'
import { indexedDBJournal, resumeIntents } from 'trpc-idempotency/journal'
import type { FormRouter } from '../formServer.js'

/** The shop's form, as an application writes it: a click is an order, and what an earlier page left is resumed. */
const user = () => localStorage.getItem('user') ?? ''
const journal = indexedDBJournal('shop', {
  owner: user,
  transformer: superjson,
  onEvent: ({ type }) => show(`event: ${type}`),
})
const client = createTRPCClient<FormRouter>({
  links: [
    idempotencyLink<FormRouter>({ mutations: { order: true }, baseDelayMs: 10, attemptTimeoutMs: 5000, journal }),
    httpBatchLink({ url: '/trpc', transformer: superjson, headers: () => ({ 'x-user': user() }) }),
  ],
})

function show(text: string): void {
  const line = document.createElement('li')
  line.textContent = text
  document.querySelector('#answers')?.append(line)
}

document.querySelector('form')?.addEventListener('submit', async (event) => {
  event.preventDefault()
  const item = String(new FormData(event.target as HTMLFormElement).get('item'))
  try {
    show(`ordered: ${await client.order.mutate({ item, cents: 350, at: new Date(0) })}`)
  } catch (error) {
    show(isOutcomeUnknown(error) ? 'unknown' : `failed: ${String(error)}`)
  }
})

/** On every load, and when the page comes back from the cache of the browser's history. */
addEventListener('pageshow', async ({ persisted }) => {
  if (persisted) show('kept')
  for (const resumed of await resumeIntents(client, journal)) {
    show(`resumed: ${resumed.outcome === 'EXECUTED' ? resumed.answer : resumed.outcome}`)
  }
  show('ready')
})
