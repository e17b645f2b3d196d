import { boundedWait } from '../../support/prismaVersion.js'
import * as ended from './endedScenes.js'
import { BROKEN, both, type FaultRow, LOST, MODEL, MODEL_OF_SIX, plain, RAW, sql } from './row.js'
import * as scenes from './scenes.js'

const isSettle = (statement: string) => statement.includes("set status = 'settled'")
const isChange = (statement: string) => /^update \S*orders/i.test(statement)
const isWord = (word: string) => (statement: string) => statement === word

/** The session ends, by the server's hand. */
const sessions: FaultRow[] = [
  ...both(
    '57P01: the session is ended while a query of the handler runs',
    { scene: ended.killedInQuery, fault: 'unknown', told: 'own error' },
    { raw: sql('57P01', RAW), model: sql('57P01', MODEL), modelOfSix: sql('57P01', MODEL_OF_SIX) },
  ),
  ...both(
    '57P01: the session is ended between two queries of the handler',
    {
      scene: (by) => ended.killedIdle((tx) => scenes.BY[by].change(tx, scenes.TWO)),
      fault: 'unknown',
      told: 'own error',
    },
    { raw: BROKEN, model: BROKEN },
  ),
  {
    name: '57P01: the session is ended before the settle',
    scene: ended.killedIdle(() => undefined),
    shape: BROKEN,
    fault: 'unknown',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
  {
    name: '57P01: the session is ended while COMMIT is on its way',
    scene: ended.killedAtCommit,
    shape: { name: 'DriverAdapterError', kind: 'postgres', at: 'cause.originalCode', sqlState: '57P01' },
    fault: 'unknown',
    told: 'answer of the second run',
  },
  ...both(
    '25P03: the transaction idled for too long, and the handler goes on',
    {
      scene: (by) => ended.idleTooLong((tx) => scenes.BY[by].change(tx, scenes.TWO)),
      fault: 'unknown',
      told: 'own error',
    },
    { raw: BROKEN, model: BROKEN },
  ),
  {
    name: '25P03: the transaction idled for too long, and the handler is done',
    scene: ended.idleTooLong(() => undefined),
    shape: BROKEN,
    fault: 'unknown',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
]

/** The connection ends, by the network's. */
const connections: FaultRow[] = [
  ...(['before', 'after'] as const).flatMap((moment) => [
    ...both(
      `a connection is closed ${moment} a statement of the handler`,
      { scene: (by) => ended.cut(isChange, { moment }, by), fault: 'unknown', told: 'own error' },
      { raw: LOST, model: LOST },
    ),
    {
      name: `a connection is closed ${moment} BEGIN`,
      scene: ended.cut(isWord('BEGIN'), { moment }),
      shape: LOST,
      fault: 'unknown' as const,
      told: 'STORE_UNAVAILABLE NOT_EXECUTED' as const,
    },
    {
      name: `a connection is closed ${moment} the settle`,
      scene: ended.cut(isSettle, { moment }),
      shape: LOST,
      fault: 'unknown' as const,
      told: 'STORE_UNAVAILABLE NOT_EXECUTED' as const,
    },
    {
      name: `a connection is closed ${moment} COMMIT`,
      scene: ended.cut(isWord('COMMIT'), { moment }),
      shape: LOST,
      fault: 'unknown' as const,
      told: moment === 'before' ? ('answer of the second run' as const) : ('answer of the first run' as const),
    },
  ]),
  ...both(
    'a connection is reset at a statement of the handler',
    {
      scene: (by) => ended.cut(isChange, { moment: 'before', end: 'reset' }, by),
      fault: 'unknown',
      told: 'own error',
    },
    { raw: { ...RAW, kind: 'ConnectionClosed' }, model: { ...MODEL, code: 'P1017', kind: 'ConnectionClosed' } },
  ),
  {
    name: 'a connection is reset at BEGIN',
    scene: ended.cut(isWord('BEGIN'), { moment: 'before', end: 'reset' }),
    shape: { ...RAW, code: 'P1017', kind: 'ConnectionClosed' },
    fault: 'unknown',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
  {
    name: 'a connection is reset after COMMIT',
    scene: ended.cut(isWord('COMMIT'), { moment: 'after', end: 'reset' }),
    shape: { name: 'DriverAdapterError', kind: 'ConnectionClosed' },
    fault: 'unknown',
    told: 'answer of the first run',
  },
  {
    name: 'the driver gives up on a statement by query_timeout',
    scene: { pool: { query_timeout: 500 }, inHandler: (tx) => tx.$queryRaw`select pg_sleep(2)::text` },
    shape: plain('Query read timeout'),
    fault: 'unknown',
    told: 'own error',
  },
  {
    name: '08001: a foreign server that a statement of the handler needs cannot be reached',
    scene: ended.foreignServer,
    shape: sql('08001', RAW),
    fault: 'unknown',
    told: 'own error',
  },
]

/** No connection is had in the first place. */
const beginnings: FaultRow[] = [
  {
    name: '53300: the role has as many connections as it may',
    scene: ended.fullRole,
    shape: sql('53300', { ...RAW, code: 'P2037', kind: 'TooManyConnections' }),
    fault: 'unknown',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
  {
    name: 'P2028: the pool has no connection to give within maxWait',
    scene: ended.exhaustedPool({ maxWaitMs: 100, ...boundedWait(100) }),
    shape: { ...RAW, code: 'P2028', meta: [] },
    // It looks at its maxWait only once it has the connection: here it is the pool's own time that is over.
    six: plain('timeout exceeded when trying to connect'),
    fault: 'unknown',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
  {
    name: 'the pool has no connection to give within its own time',
    scene: ended.exhaustedPool({ maxWaitMs: 2000, connectionTimeoutMillis: 500 }),
    shape: plain('timeout exceeded when trying to connect'),
    fault: 'unknown',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
  {
    name: 'nothing listens at the address of the database',
    scene: ended.nowhere,
    shape: { ...RAW, code: 'P1001', kind: 'DatabaseNotReachable' },
    fault: 'unknown',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
  {
    name: '25006: the database takes no writes, as a standby does',
    scene: { pool: { options: '-c default_transaction_read_only=on' } },
    shape: sql('25006', RAW),
    fault: 'refused',
    told: 'STORE_UNAVAILABLE NOT_EXECUTED',
  },
]

export const CONNECTION_ROWS = [...sessions, ...connections, ...beginnings]
