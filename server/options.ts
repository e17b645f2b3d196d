import { inspect } from 'node:util'
import { z } from 'zod'
import { jsonSerializer, type Serializer } from './engine/serializer.js'
import { type SealFrom, type SealSecret, sealOption } from './sealOption.js'
import type { SealPeriod } from './store/seal.js'
import type { IsolationLevel } from './store/sqlDatabase.js'

/**
 * How transaction mode behaves. Given to `createIdempotency` for all procedures, and to `transaction` for one.
 * Milliseconds and bytes are whole numbers.
 */
export interface TransactionOptions {
  /** How long a duplicate waits for the attempt that runs before it is answered IN_FLIGHT, in ms. Default 10,000. */
  waitMs?: number
  /**
   * How much of that it waits inside the database, on a connection, in ms. Default 200. A repeat waits there for 10 at the
   * most, at a time.
   */
  claimWaitMs?: number
  /** How long the transaction may take, handler included, in ms (Prisma's `timeout`). Default 5,000. */
  timeoutMs?: number
  /** How long to wait for a connection from the pool, in ms (Prisma's `maxWait`). Default 2,000. */
  maxWaitMs?: number
  /** The isolation level of the transaction. The database's own default when left out. */
  isolationLevel?: IsolationLevel
  /** How often the transaction is run again after a serialization failure or a deadlock. Default 3. */
  maxReruns?: number
  /** How large a serialised result may be, in bytes of UTF-8. Default 1 MiB. */
  maxResultBytes?: number
  /**
   * Whether an error is the final answer: its work is undone, and the error is stored and given to every attempt. Needs
   * tRPC 11.22 or later. Default: none is, and the next attempt runs again.
   */
  storeError?: (error: TRPCErrorLike) => boolean
  /**
   * For how long a handler may keep its transaction open without a query before it is warned of on the console, in ms:
   * it waits for something outside, which holds a connection. In development alone. Default 1,000.
   */
  idleWarningMs?: number
}

/** A TRPCError, as far as it is told apart here: `instanceof` fails over two copies of tRPC. */
export interface TRPCErrorLike extends Error {
  readonly code: string
}

/**
 * The same with its defaults. Only these two may still be left out: the database has an isolation level of its own, and
 * where no error is stored, nothing is prepared for it.
 */
export interface TransactionSettings extends Required<Omit<TransactionOptions, 'isolationLevel' | 'storeError'>> {
  isolationLevel?: IsolationLevel | undefined
  storeError?: ((error: TRPCErrorLike) => boolean) | undefined
}

/** What holds for all procedures of one `createIdempotency`. */
export interface SharedOptions extends TransactionOptions {
  /** The router's transformer. JSON when left out. */
  serializer?: Serializer
  /** How long a key is good for, counted from its birth, in ms. Default 72 hours. */
  retentionMs?: number
  /** How far a client's clock may be ahead of the database's, in ms. Default 10 minutes. */
  skewMs?: number
  /**
   * Seals the results in the table, so that who reads it (a dump, a replica) learns none: one secret, or several with the
   * births from which on they seal. All servers need the same. Default: results are stored as they are.
   */
  seal?: SealSecret | readonly SealFrom[]
  /** The Postgres schema that holds the tables, where the connection's search path does not lead to them. */
  schema?: string
}

export interface Settings {
  serializer: Serializer
  retentionMs: number
  skewMs: number
  seal: readonly SealPeriod[]
  schema: string | undefined
  transaction: TransactionSettings
}

export const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** The largest number of milliseconds that Postgres' timeouts and Node's timers take. */
export const LONGEST_TIMER_MS = 2_147_483_647

const wholeNumber = (least: number, most: number) => z.int().min(least).max(most)
export const milliseconds = (least: number, most = LONGEST_TIMER_MS) => wholeNumber(least, most)

/** A function that judges errors. */
export const errorPredicate = z.custom<(error: TRPCErrorLike) => boolean>(
  (value) => typeof value === 'function',
  'must be a function from an error to true or false',
)

export const transactionShape = {
  // Longer than any transaction may take by default, so that a duplicate gets the answer and not a refusal; shorter
  // than clients and proxies wait for one.
  waitMs: milliseconds(0).default(10 * SECOND),
  // A duplicate holds a connection for this long and then gives it back, so duplicates cannot drain the pool.
  // Most transactions are over before it ends; a shorter wait only turns one trip to the database into several.
  claimWaitMs: milliseconds(1).default(200),
  // Prisma's own defaults: wrapping a procedure should not change how long its transaction may take.
  timeoutMs: milliseconds(1).default(5 * SECOND),
  maxWaitMs: milliseconds(1).default(2 * SECOND),
  isolationLevel: z.enum(['ReadCommitted', 'RepeatableRead', 'Serializable']).optional(),
  // Each rerun doubles its pause, and three of them part two transactions that fought over the same rows. Who needs more
  // has rows that many fight over, and should hear of it.
  maxReruns: wholeNumber(0, 100).default(3),
  // The answer to a mutation is a receipt, and is kept for days. Who returns more than a megabyte returns a report, and
  // learns it from an error rather than from the size of the table.
  maxResultBytes: wholeNumber(1, 256 * 1024 * 1024).default(1024 * 1024),
  storeError: errorPredicate.optional(),
  // Between two queries a handler computes, for milliseconds; a tenth of this would tell of slow laptops. And well before
  // the default of timeoutMs, which otherwise is how a slow outside call is first heard of.
  idleWarningMs: milliseconds(1).default(SECOND),
}

const sharedShape = {
  serializer: z
    .custom<Serializer>(
      isSerializer,
      'must have the methods serialize and deserialize (of a transformer of two parts, give the output part)',
    )
    .default(() => jsonSerializer),
  // Three days: an intent that was stored on Friday evening is still answered on Monday morning.
  retentionMs: milliseconds(MINUTE, Number.MAX_SAFE_INTEGER).default(72 * HOUR),
  // Clocks that synchronise are off by seconds, those set by hand by minutes. A key from the future is only kept longer.
  skewMs: milliseconds(0, DAY).default(10 * MINUTE),
  seal: sealOption,
  schema: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_$]{0,62}$/, 'must be the name of a Postgres schema')
    .optional(),
}

const sharedSchema = z.strictObject({
  prisma: z.custom(
    (value) => hasMethod(value, '$transaction') && hasMethod(value, '$queryRawUnsafe'),
    'must be a PrismaClient',
  ),
  scope: z.custom(
    (value) => typeof value === 'function',
    'must be a function from { ctx } to the name of whom the key belongs to',
  ),
  headers: z
    .custom((value) => typeof value === 'function', 'must be a function from { ctx } to the headers of the request')
    .optional(),
  ...sharedShape,
  ...transactionShape,
})

const transactionSchema = z.strictObject(transactionShape)

/**
 * Checks what `createIdempotency` was given and fills in the defaults.
 *
 * @throws TypeError that names each wrong option, its bound and its value
 */
export function readSharedOptions(given: unknown): Settings {
  const {
    serializer,
    retentionMs,
    skewMs,
    seal,
    schema,
    prisma: _,
    scope: __,
    headers: ___,
    ...transaction
  } = readOptions(sharedSchema, given, 'createIdempotency')
  checkTogether(transaction, 'createIdempotency')
  return { serializer, retentionMs, skewMs, seal, schema, transaction }
}

/** The same for what `transaction` was given; what is left out there is taken from `shared`. */
export function readTransactionOptions(given: unknown, shared: TransactionSettings): TransactionSettings {
  const own = Object.entries(given as object).filter(([, value]) => value !== undefined)
  const settings = readOptions(transactionSchema, { ...shared, ...Object.fromEntries(own) }, 'transaction')
  checkTogether(settings, 'transaction')
  return settings
}

function checkTogether(settings: TransactionSettings, caller: string): void {
  if (settings.claimWaitMs < settings.timeoutMs) return
  throw new TypeError(
    `${caller}: claimWaitMs must be less than timeoutMs (${settings.timeoutMs}), got ${settings.claimWaitMs}`,
  )
}

/**
 * Checks options and fills in the defaults.
 *
 * @throws TypeError that names each wrong option, its bound and its value
 */
export function readOptions<Schema extends z.ZodObject>(
  schema: Schema,
  given: unknown,
  caller: string,
): z.infer<Schema> {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  throw new TypeError(parsed.error.issues.map((issue) => complaint(issue, given, caller)).join('\n'))
}

function complaint(issue: z.core.$ZodIssue, given: unknown, caller: string): string {
  if (issue.code === 'unrecognized_keys') return `${caller}: there is no option ${issue.keys.join(', ')}`
  const name = issue.path.join('.')
  if (issue.code === 'custom' && issue.params?.['secret'] === true) return `${caller}: ${name} ${issue.message}`
  const value = issue.path.reduce<unknown>(
    (from, key) => (from as Record<PropertyKey, unknown> | undefined)?.[key],
    given,
  )
  return `${caller}: ${name === '' ? 'the options' : name} ${bound(issue)}, got ${inspect(value, { depth: 0 })}`
}

function bound(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'too_small':
      return `must be at least ${issue.minimum}`
    case 'too_big':
      return `must be at most ${issue.maximum}`
    case 'invalid_value':
      return `must be one of ${issue.values.join(', ')}`
    case 'invalid_type':
      return `must be ${issue.expected === 'int' ? 'a whole number' : `of type ${issue.expected}`}`
    default:
      return issue.message
  }
}

function isSerializer(value: unknown): boolean {
  return hasMethod(value, 'serialize') && hasMethod(value, 'deserialize')
}

function hasMethod(value: unknown, name: string): boolean {
  const owner = value as Record<string, unknown> | null | undefined
  return (typeof value === 'object' || typeof value === 'function') && typeof owner?.[name] === 'function'
}
