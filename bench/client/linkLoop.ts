import process from 'node:process'
import { alternately } from '../measure/alternately.js'
import { answeringClients, type Call, LANES, type Lane } from './answering.js'

/** What the parent wants to know. */
export interface LoopOrder {
  measure: 'cost' | 'allocations' | 'memory'
  rounds: number
  calls: number
}

/** A number a round, by lane; or of memory, which is not compared. */
export type LoopReport = Record<Lane, number[]> | number[]

/** Calls at a time: as one page hardly has, but those that wait for their second attempt leave no room idle. */
const AT_ONCE = 100

// A process of its own, so that its heap holds nothing but clients, and its flags are its own.
const { measure, rounds, calls } = JSON.parse(process.argv[2] ?? '{}') as LoopOrder
const clients = answeringClients()
process.send?.(await measured())
process.disconnect()

async function measured(): Promise<LoopReport> {
  switch (measure) {
    case 'cost':
      return alternately(LANES, rounds, (lane) => cpuMicroseconds(clients[lane]))
    case 'allocations':
      return alternately(LANES, rounds, (lane) => allocatedBytes(clients[lane]))
    case 'memory':
      return heaps()
  }
}

/** Of processor time, a call: while a call waits for its second attempt, others run, or nothing does. */
async function cpuMicroseconds(call: Call): Promise<number> {
  const start = process.cpuUsage()
  await callOften(call)
  const { user, system } = process.cpuUsage(start)
  return (user + system) / calls
}

/** A call. The young generation is larger than what one round allocates, so that nothing of it is collected before. */
async function allocatedBytes(call: Call): Promise<number> {
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  await callOften(call)
  return (process.memoryUsage().heapUsed - before) / calls
}

/** What is in use after each round, of which every second call is sent twice; all that can be collected is. */
async function heaps(): Promise<number[]> {
  const used: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    await callOften(clients.link, calls / 2)
    await callOften(clients.linkRetried, calls / 2)
    globalThis.gc?.()
    used.push(process.memoryUsage().heapUsed)
  }
  return used
}

async function callOften(call: Call, times = calls): Promise<void> {
  for (let made = 0; made < times; made += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, call))
}
