import { setTimeout as pause } from 'node:timers/promises'
import { v7 } from 'uuid'
import type { Post } from '../measure/post.js'
import { CLIENTS, OTHERS, SLOW_EVERY_MS, SLOW_KEYS } from './terms.js'

/** Whose claims the servers use: the library's, or plain ones. */
export type Claims = 'ours' | 'plain'

export interface Round {
  claims: Claims
  /**
   * Whether each slow operation is sent by one client, or by all of them; or by one, while all others wait as long for a
   * timer: what a storm costs as requests alone.
   */
  sentBy: 'one' | 'all' | 'one, others wait'
  ms: number
}

/** What became of one slow operation. */
export interface SlowOperation {
  /** The item that it ordered: another one for each. */
  item: string
  /** The different answers that its clients were given. */
  answers: Set<string>
  refused: number
}

export interface RoundResult {
  /** Normal mutations a second. */
  perSecond: number
  /** Of each normal mutation. */
  latencies: number[]
  failed: number
  slow: SlowOperation[]
}

/** Runs normal mutations for a while beside slow ones, over all servers. */
export async function stormRound(post: Post, urls: readonly string[], round: Round): Promise<RoundResult> {
  const { claims, sentBy, ms } = round
  const latencies: number[] = []
  const slow: SlowOperation[] = []
  let failed = 0
  const end = performance.now() + ms

  const send = (url: string, mutation: string, call: { key: string; item: string; attempt: number }) => {
    const { key, item, attempt } = call
    const body = claims === 'ours' ? { '~idempotency': { key, attempt }, '~input': { item } } : { key, item }
    return post(`${url}/${claims}.${mutation}`, body)
  }
  const urlOf = (index: number) => urls[index % urls.length] ?? ''

  const sendsNormal = async (index: number) => {
    while (performance.now() < end) {
      const start = performance.now()
      const { status } = await send(urlOf(index), 'create', { key: v7(), item: 'normal', attempt: 1 })
      if (status !== 200) failed += 1
      else if (performance.now() < end) latencies.push(performance.now() - start)
    }
  }
  const answering: Promise<unknown>[] = []
  const sendsSlow = async (slot: number) => {
    for (let turn = slot; performance.now() < end; turn += 1) {
      const key = v7()
      const operation: SlowOperation = { item: `slow ${key}`, answers: new Set(), refused: 0 }
      slow.push(operation)
      const all = Array.from({ length: sentBy === 'one' ? 1 : CLIENTS }, async (_, client) => {
        const url = urlOf(turn + client)
        if (client > 0 && sentBy === 'one, others wait') return void (await post(`${url}/timer`, { item: 'waits' }))
        const call = { key, item: operation.item, attempt: client === 0 ? 1 : 2 }
        const { status, text } = await send(url, 'slow', call)
        if (status === 200) operation.answers.add(text)
        else operation.refused += 1
      })
      answering.push(...all)
      await Promise.all([Promise.race(all), pause(SLOW_EVERY_MS)])
    }
  }
  await Promise.all([
    ...Array.from({ length: OTHERS }, (_, index) => sendsNormal(index)),
    ...Array.from({ length: SLOW_KEYS }, (_, slot) => sendsSlow(slot)),
  ])
  // Beyond the measured time: each client gets its answer before the next round begins.
  await Promise.all(answering)
  return { perSecond: (1000 * latencies.length) / ms, latencies, failed, slow }
}
