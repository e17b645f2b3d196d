import type { Row } from './shop.js'

export interface RowInfo {
  title: string
  load(): Promise<{ row: Row }>
  /** How it is told the key: beside the input, in a header, or not at all. */
  keyIn: 'envelope' | 'header' | 'none'
  redis: boolean
  /** Whether the effect and what is remembered of it commit together, or not at all. Null where nothing is remembered. */
  atomic: boolean | null
}

/** The rows of the comparison, by name. */
export const ROWS = {
  bareTransaction: {
    title: 'none: an interactive transaction',
    load: () => import('./rows/bareTransaction.js'),
    ...{ keyIn: 'none', redis: false, atomic: null },
  },
  bareTransactionNamed: {
    title: 'none: the same, with `statementNameGenerator`',
    load: () => import('./rows/bareTransactionNamed.js'),
    ...{ keyIn: 'none', redis: false, atomic: null },
  },
  bareCreate: {
    title: 'none: a bare create',
    load: () => import('./rows/bareCreate.js'),
    ...{ keyIn: 'none', redis: false, atomic: null },
  },
  transaction: {
    title: '**transaction mode**',
    load: () => import('./rows/transaction.js'),
    ...{ keyIn: 'envelope', redis: false, atomic: true },
  },
  transactionWithWrapper: {
    title: '**transaction mode, `withIdempotency`**',
    load: () => import('./rows/transactionWithWrapper.js'),
    ...{ keyIn: 'envelope', redis: false, atomic: true },
  },
  transactionPrepared: {
    title: '**transaction mode, `withIdempotency`, `prepare`**',
    load: () => import('./rows/transactionPrepared.js'),
    ...{ keyIn: 'envelope', redis: false, atomic: true },
  },
  transactionNamed: {
    title: '**transaction mode, `statementNameGenerator`**',
    load: () => import('./rows/transactionNamed.js'),
    ...{ keyIn: 'envelope', redis: false, atomic: true },
  },
  lease: {
    title: '**lease mode**',
    load: () => import('./rows/lease.js'),
    ...{ keyIn: 'envelope', redis: false, atomic: false },
  },
  leaseWithPoint: {
    title: '**lease mode, order in `recoveryPoint.tx`**',
    load: () => import('./rows/leaseWithPoint.js'),
    ...{ keyIn: 'envelope', redis: false, atomic: true },
  },
  checkThenAct: {
    title: 'by hand: check, then act, with Prisma',
    load: () => import('./rows/checkThenAct.js'),
    ...{ keyIn: 'header', redis: false, atomic: true },
  },
  nodePostgres: {
    title: 'by hand: a claim in node-postgres, the floor',
    load: () => import('./rows/nodePostgres.js'),
    ...{ keyIn: 'header', redis: false, atomic: true },
  },
  dbos: {
    title: 'DBOS Transact 5.1.10, Prisma data source',
    load: () => import('./rows/dbos.js'),
    ...{ keyIn: 'header', redis: false, atomic: true },
  },
  powertools: {
    title: 'AWS Powertools 2.35.0, Redis',
    load: () => import('./rows/powertools.js'),
    ...{ keyIn: 'header', redis: true, atomic: false },
  },
  nodeIdempotency: {
    title: '@node-idempotency/core 1.0.11, Redis',
    load: () => import('./rows/nodeIdempotency.js'),
    ...{ keyIn: 'header', redis: true, atomic: false },
  },
} as const satisfies Record<string, RowInfo>

export type RowName = keyof typeof ROWS
export const ROW_NAMES = Object.keys(ROWS) as RowName[]
