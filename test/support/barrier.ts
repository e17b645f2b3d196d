import { createServer, type ServerResponse } from 'node:http'
import { listen } from './httpServer.js'

export interface Barrier {
  /** Whoever fetches this waits until the barrier opens. Works from any process. */
  url: string
  /** Resolves when as many have arrived as were expected. */
  allArrived: Promise<void>
  /** Lets everybody go, those who come later too. */
  open(): void
}

/** A place where `expected` attempts meet, so that a race is planted and not hoped for. Closed when the test ends. */
export async function createBarrier(expected: number): Promise<Barrier> {
  const waiting: ServerResponse[] = []
  let isOpen = false
  let arrived: () => void = () => undefined
  const allArrived = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const server = createServer((_request, response) => {
    if (isOpen) return void response.end()
    waiting.push(response)
    if (waiting.length === expected) arrived()
  })
  return {
    url: await listen(server),
    allArrived,
    open() {
      isOpen = true
      for (const response of waiting) response.end()
    },
  }
}

/** Waits at a barrier. */
export async function passBarrier(url: string): Promise<void> {
  await (await fetch(url)).text()
}
