import { both, type FaultRow, MODEL, MODEL_OF_SIX, RAW, sql } from './row.js'
import * as scenes from './scenes.js'

/** Conflicts: the transaction is run again. */
const conflicts: FaultRow[] = [
  ...both(
    '40001: another transaction changed a row that was read',
    { scene: scenes.serialization, fault: 'conflict', told: 'answer of the second run' },
    {
      raw: sql('40001', { ...RAW, kind: 'TransactionWriteConflict' }),
      model: sql('40001', { ...MODEL, code: 'P2034', kind: 'TransactionWriteConflict' }),
    },
  ),
  {
    name: '40001: write skew, found at COMMIT',
    scene: scenes.writeSkew,
    shape: {
      name: 'DriverAdapterError',
      kind: 'TransactionWriteConflict',
      at: 'cause.originalCode',
      sqlState: '40001',
    },
    fault: 'conflict',
    told: 'answer of the second run',
  },
  ...both(
    '40P01: a deadlock',
    { scene: scenes.deadlock, fault: 'conflict', told: 'answer of the second run' },
    {
      raw: sql('40P01', { ...RAW, kind: 'TransactionWriteConflict' }),
      model: sql('40P01', { ...MODEL, code: 'P2034', kind: 'TransactionWriteConflict' }),
      // It takes only the other one for a conflict.
      rawOfSix: sql('40P01', RAW),
      modelOfSix: sql('40P01', MODEL_OF_SIX),
    },
  ),
]

/** Waits that were bounded: the library's own are its own affair, the handler's are errors of the handler. */
const waits: FaultRow[] = [
  {
    name: '55P03: another transaction holds the key',
    scene: scenes.heldKey({ options: { waitMs: 300, claimWaitMs: 50 } }),
    shape: sql('55P03', RAW),
    fault: 'blocked',
    told: 'IN_FLIGHT NOT_EXECUTED',
  },
  ...both(
    '55P03: another transaction holds a row of the handler',
    { scene: (by) => scenes.heldRow(by, 'lock_timeout'), fault: 'blocked', told: 'own error' },
    { raw: sql('55P03', RAW), model: sql('55P03', MODEL), modelOfSix: sql('55P03', MODEL_OF_SIX) },
  ),
  {
    name: '57014: another transaction holds the key, and the application’s own statement_timeout is short',
    scene: scenes.heldKey({ pool: { options: '-c statement_timeout=100' }, options: { waitMs: 300 } }),
    shape: sql('57014', RAW),
    fault: 'timed out',
    told: 'IN_FLIGHT NOT_EXECUTED',
  },
  ...both(
    '57014: a statement of the handler takes too long',
    { scene: (by) => scenes.heldRow(by, 'statement_timeout'), fault: 'timed out', told: 'own error' },
    { raw: sql('57014', RAW), model: sql('57014', MODEL), modelOfSix: sql('57014', MODEL_OF_SIX) },
  ),
]

/** Prisma's own clock, and its own books. */
const transactions: FaultRow[] = [
  {
    name: 'P2028: the transaction took longer than it may',
    scene: scenes.tooSlow,
    shape: { ...RAW, code: 'P2028', meta: ['modelName', 'operation', 'timeTaken', 'timeout'] },
    fault: 'timed out',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
  {
    name: 'P2028: the transaction is over already',
    scene: scenes.overAlready,
    shape: { ...RAW, code: 'P2028', meta: ['modelName'] },
    fault: 'unknown',
    told: 'answer of the first run',
  },
]

/** Mistakes: the handler's are the handler's. */
const mistakes: FaultRow[] = [
  ...both(
    'P2002, 23505: a value of the application’s own table is not unique',
    { scene: scenes.notUnique, fault: 'refused', told: 'own error' },
    {
      raw: sql('23505', { ...RAW, kind: 'UniqueConstraintViolation' }),
      model: sql('23505', { ...MODEL, code: 'P2002', kind: 'UniqueConstraintViolation' }),
    },
  ),
  {
    name: '23505: the same, looked at by Postgres no sooner than at COMMIT',
    scene: scenes.notUniqueAtCommit,
    shape: {
      name: 'DriverAdapterError',
      kind: 'UniqueConstraintViolation',
      at: 'cause.originalCode',
      sqlState: '23505',
    },
    fault: 'refused',
    told: 'own error',
  },
  ...both(
    '25P02: the handler goes on after a statement of it failed',
    {
      scene: (by) => scenes.swallowed((tx) => scenes.BY[by].change(tx, scenes.TWO)),
      fault: 'aborted',
      told: 'own error',
    },
    { raw: sql('25P02', RAW), model: sql('25P02', MODEL), modelOfSix: sql('25P02', MODEL_OF_SIX) },
  ),
  {
    name: '25P02: the handler returns after a statement of it failed',
    scene: scenes.swallowed(() => undefined),
    shape: sql('25P02', RAW),
    fault: 'aborted',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
]

export const STATEMENT_ROWS = [...conflicts, ...waits, ...transactions, ...mistakes]
