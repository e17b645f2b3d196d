import { chances } from '../support/chances.js'
import type { Call, Moment } from './provider.js'

/** Within this many ms after the provider's answer, a server records charge and payment, and answers. */
const RECORDING_MS = 30

interface Kill {
  moment: Moment
  delayMs: number
}

/**
 * Plans the kills: each strikes the server that charges a certain customer, before the provider has charged, or after it
 * has and before it answers, or a little after it has answered.
 *
 * @returns what kills the caller of a call, if it is time
 */
export function planKills(
  { customers, kills, seed }: { customers: readonly string[]; kills: number; seed: number },
  kill: (pid: number) => boolean,
): (moment: Moment, call: Call) => void {
  const plan = new Map<string, Kill>(
    customers
      .map((customer) => ({ customer, chance: chances(seed, `kill/${customer}`) }))
      .sort((one, other) => one.chance[0] - other.chance[0])
      .slice(0, kills)
      .map(({ customer, chance: [, forMoment, forDelay] }) => [customer, killAt(forMoment, forDelay)]),
  )
  return (moment, { customer, caller }) => {
    const planned = plan.get(customer)
    if (planned?.moment !== moment) return
    const strike = () => {
      // Where the caller was dead before, its checkout goes on elsewhere, and the kill waits for that.
      if (kill(caller)) plan.delete(customer)
    }
    if (planned.delayMs === 0) strike()
    else setTimeout(strike, planned.delayMs)
  }
}

function killAt(forMoment: number, forDelay: number): Kill {
  if (forMoment < 1 / 3) return { moment: 'asked', delayMs: 0 }
  if (forMoment < 2 / 3) return { moment: 'charged', delayMs: 0 }
  return { moment: 'answered', delayMs: forDelay * RECORDING_MS }
}
