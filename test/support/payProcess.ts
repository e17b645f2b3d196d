import type { LeaseOptions } from 'trpc-idempotency/server'
import { type ServerProcess, startServerProcess } from './serverProcess.js'

export interface PayProcessOptions {
  providerUrl: string
  lease: LeaseOptions
  /** Address of a barrier that the handler passes once it has charged. */
  barrierAfterCharge?: string
  /** Address of a barrier that the transaction of `record` passes before it commits. */
  barrierInRecord?: string
  /** How far the clock of the process is off. */
  clockOffMs?: number
}

/**
 * Starts a server of the mutation `pay`, in lease mode: it charges at the provider, records an order in a recovery point
 * with its data, and has the provider send a mail.
 */
export function startPayProcess(databaseUrl: string, options: PayProcessOptions): Promise<ServerProcess> {
  return startServerProcess('payServer.ts', [databaseUrl, JSON.stringify(options)])
}
