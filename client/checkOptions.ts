import type { GivenOptions } from './options.js'

/** The longest delay that timers of browsers and Node.js can hold; a longer one fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647

const BOUNDS = {
  maxAttempts: [1, 100],
  attemptTimeoutMs: [1, LONGEST_TIMER_MS],
  deadlineMs: [1, LONGEST_TIMER_MS],
  baseDelayMs: [0, LONGEST_TIMER_MS],
  maxDelayMs: [0, LONGEST_TIMER_MS],
  retryBudget: [0, 1_000_000],
} as const

const OF_ONE_MUTATION = ['maxAttempts', 'attemptTimeoutMs', 'deadlineMs']

/**
 * Checks the link's options. In development alone: they are written by whoever builds the page, and a bundle for its
 * users is spared the words.
 *
 * @throws TypeError that names the option, its bounds and the value
 */
export function checkOptions(options: GivenOptions): void {
  const { mutations, carrier, onEvent, journal, ...numbers } = options
  if (carrier !== undefined && carrier !== 'input' && carrier !== 'header') {
    throw new TypeError(`idempotencyLink: carrier must be 'input' or 'header', got ${print(carrier)}`)
  }
  if (onEvent !== undefined && typeof onEvent !== 'function') {
    throw new TypeError(`idempotencyLink: onEvent must be a function, got ${print(onEvent)}`)
  }
  if (journal !== undefined && typeof (journal as { begin?: unknown } | null)?.begin !== 'function') {
    throw new TypeError(`idempotencyLink: journal must be what intentJournal(...) gives, got ${print(journal)}`)
  }
  checkNumbers(numbers, '', Object.keys(BOUNDS))
  if (mutations === 'all') return
  if (typeof mutations !== 'object' || mutations === null || Array.isArray(mutations)) {
    throw new TypeError(
      `idempotencyLink: mutations must be 'all' or an object of paths such as { 'order.create': true }, got ${print(mutations)}`,
    )
  }
  for (const [path, own] of Object.entries(mutations)) {
    if (own === true) continue
    if (typeof own !== 'object' || own === null) {
      throw new TypeError(`idempotencyLink: mutations['${path}'] must be true or an object, got ${print(own)}`)
    }
    checkNumbers(own, `mutations['${path}'].`, OF_ONE_MUTATION)
  }
}

function checkNumbers(given: object, where: string, allowed: readonly string[]): void {
  for (const [name, value] of Object.entries(given)) {
    if (!allowed.includes(name)) throw new TypeError(`idempotencyLink: there is no option ${where}${name}`)
    const [least, most] = BOUNDS[name as keyof typeof BOUNDS]
    if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) continue
    throw new TypeError(
      `idempotencyLink: ${where}${name} must be a whole number from ${least} to ${most}, got ${print(value)}`,
    )
  }
}

function print(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : Array.isArray(value) ? 'an array' : String(value)
}
