import type { IdempotencyError } from '../errors.js'
import { leaseLost } from '../refusals.js'
import type { Held, LeaseStore, LeaseTerms } from '../store/leaseStore.js'

/** Renewed twice before it could run out: one lost renewal does not cost the lease. */
const RENEWALS_A_LEASE = 3
/** How much sooner a renewal that failed is tried again. */
const RETRIES_A_RENEWAL = 4

/** The holder of a lease, for as long as its handler runs. */
export interface LeaseHolder {
  /** Aborts with LEASE_LOST as soon as the lease is known, or has to be feared, to be lost. */
  readonly signal: AbortSignal
  /** @throws IdempotencyError LEASE_LOST once the lease is lost */
  check(): void
  /** Tells that a write found another fence. */
  lost(): IdempotencyError
  /** Ends the renewal. */
  end(): void
}

/**
 * Renews a lease until it is told to end. Whether the lease is lost is the database's word: a renewal that finds another
 * fence. Only when no renewal came through for the length of a lease, the holder has to fear it.
 */
export function holdLease(
  store: Pick<LeaseStore<never>, 'renew'>,
  held: Held,
  { renew, ...terms }: LeaseTerms & { renew: boolean },
): LeaseHolder {
  const controller = new AbortController()
  const lost = () => {
    const error = leaseLost(held.operation)
    end()
    controller.abort(error)
    return error
  }
  const interval = terms.leaseMs / RENEWALS_A_LEASE
  let timer: NodeJS.Timeout | undefined
  let ended = false
  let renewedAt = performance.now()

  const end = () => {
    ended = true
    clearTimeout(timer)
  }
  const schedule = (ms: number) => {
    if (!ended) timer = setTimeout(() => void tryRenewal(), ms)
  }
  const tryRenewal = async () => {
    const startedAt = performance.now()
    try {
      const renewed = await store.renew(held, terms)
      if (ended) return
      if (!renewed) return void lost()
      renewedAt = startedAt
      schedule(interval)
    } catch {
      // The database is away, or a recovery point of this very holder holds the row: try again, sooner.
      if (ended) return
      if (performance.now() - renewedAt >= terms.leaseMs) return void lost()
      schedule(interval / RETRIES_A_RENEWAL)
    }
  }
  if (renew) schedule(interval)

  return {
    signal: controller.signal,
    check() {
      if (controller.signal.aborted) throw leaseLost(held.operation)
    },
    lost,
    end,
  }
}
