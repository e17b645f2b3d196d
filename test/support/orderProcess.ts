import type { TransactionOptions } from 'trpc-idempotency/server'
import { type ServerProcess, startServerProcess } from './serverProcess.js'

export interface OrderProcessOptions {
  /** Address of a barrier that every attempt passes before it claims. */
  barrierBeforeClaim?: string
  /** Address of a barrier that the handler passes after it has written. */
  barrierInHandler?: string
  /** Options of the library. */
  idempotency?: TransactionOptions
}

/** Starts a server of the mutation `create`, in transaction mode. */
export function startOrderProcess(databaseUrl: string, options: OrderProcessOptions = {}): Promise<ServerProcess> {
  return startServerProcess('orderServer.ts', [databaseUrl, JSON.stringify(options)])
}
