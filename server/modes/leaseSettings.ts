import type { OnUnknown } from '../engine/record.js'

/** How one procedure in lease mode behaves: its options, with nothing left out. */
export interface LeaseSettings {
  leaseMs: number
  renew: boolean
  onInFlight: 'wait' | 'reject'
  waitMs: number
  claimWaitMs: number
  onUnknown: OnUnknown
  timeoutMs: number
  maxWaitMs: number
  idleWarningMs: number
  maxReruns: number
  maxResultBytes: number
}
