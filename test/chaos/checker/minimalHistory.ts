import type { Attempt, Delivery, Disaster, End } from '../history.js'
import type { Case } from './case.js'

interface Event {
  atMs: number
  text: string
}

/** How long before and after the tries for an intent a disaster is told of. */
const AROUND_MS = 500

/** Tells what happened to one intent, a line for each event. Times are in seconds since the first. */
export function minimalHistory(one: Case, disasters: readonly Disaster[]): string[] {
  const own = [
    ...one.attempts.flatMap(triesOf),
    ...one.deliveries.flatMap(triesOf),
    ...one.calls.map(({ call, endMs, outcome, reason }) => event(endMs, `call ${call} ends: ${outcome}${of(reason)}`)),
    ...one.effects.map(({ table, id, writtenMs }) => event(writtenMs, `row ${id} of ${table} is written`)),
    ...one.charges.map(({ id, madeAtMs }) => event(madeAtMs, `the provider makes charge ${id}`)),
  ]
  const startMs = Math.min(...own.map(({ atMs }) => atMs))
  const endMs = Math.max(...own.map(({ atMs }) => atMs))
  const around = disasters
    .filter((disaster) => disaster.startMs <= endMs + AROUND_MS && disaster.endMs >= startMs - AROUND_MS)
    .flatMap(({ text, ...disaster }) => [
      event(disaster.startMs, text),
      ...(disaster.endMs - disaster.startMs > 1 ? [event(disaster.endMs, `(over: ${text})`)] : []),
    ])
  const told = [...own, ...around].sort((a, b) => a.atMs - b.atMs)
  return [
    ...told.map(({ atMs, text }) => `${((atMs - startMs) / 1000).toFixed(3).padStart(8)} s  ${text}`),
    ...one.points.map(({ chargeId }) => `in the end     there is a recovery point of charge ${chargeId}`),
  ]
}

function triesOf(one: Attempt | Delivery): Event[] {
  const name =
    one.kind === 'attempt'
      ? `attempt ${one.attempt} of call ${one.call}`
      : `${one.copy ? 'a copy' : 'a delivery'} of attempt ${one.attempt} of call ${one.call} to ${one.server}`
  const begins = event(one.startMs, name)
  return Number.isFinite(one.endMs) ? [begins, event(one.endMs, `(${name}) ${endText(one.end)}`)] : [begins]
}

function endText(end: End): string {
  switch (end.kind) {
    case 'answer':
      return `is answered ${end.text}`
    case 'error':
      return `fails: ${end.code}${of(end.reason)}, ${end.attemptOutcome}`
    case 'nothing':
      return 'has no answer'
  }
}

function of(reason: string | undefined): string {
  return reason === undefined ? '' : ` for ${reason}`
}

function event(atMs: number, text: string): Event {
  return { atMs, text }
}
