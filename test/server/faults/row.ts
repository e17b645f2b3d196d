import type { Fault } from '../../../server/store/sqlDatabase.js'
import type { By } from './scenes.js'
import type { Shape } from './shapeOf.js'
import type { Scene } from './stage.js'

/** What the caller is told in the end. */
export type Told =
  /** The transaction was run again, and this is the answer. */
  | 'answer of the second run'
  | 'answer of the first run'
  /** The handler's own error: its work is undone, and the next attempt runs. */
  | 'own error'
  | 'IN_FLIGHT NOT_EXECUTED'
  | 'STORE_UNAVAILABLE NOT_EXECUTED'

export interface FaultRow {
  name: string
  scene: Scene
  shape: Shape
  /** Where Prisma 6 hands over something else. */
  six?: Shape
  fault: Fault
  told: Told
}

const IN_META = 'meta.driverAdapterError.cause.originalCode'
export const RAW = { name: 'PrismaClientKnownRequestError', code: 'P2010' }
export const MODEL = { name: 'PrismaClientKnownRequestError', code: 'P2039' }
/** What Prisma 6 makes of an SQLSTATE that it has no code for. */
export const MODEL_OF_SIX = { name: 'DriverAdapterError', at: 'cause.originalCode' }

export const plain = (message: string): Shape => ({ name: 'Error', message })
export const LOST = plain('Connection terminated unexpectedly')
export const BROKEN = plain('Client has encountered a connection error and is not queryable')

export const sql = (sqlState: string, of: Partial<Shape> & { name: string }): Shape => ({
  kind: 'postgres',
  at: IN_META,
  sqlState,
  ...of,
})

/** One fault in both ways in which a handler can ask. */
export const both = (
  name: string,
  row: Omit<FaultRow, 'name' | 'scene' | 'shape' | 'six'> & { scene(by: By): Scene },
  shapes: Record<By, Shape> & { rawOfSix?: Shape; modelOfSix?: Shape },
): FaultRow[] => [
  {
    ...row,
    name: `${name}, in a raw query`,
    scene: row.scene('raw'),
    shape: shapes.raw,
    ...(shapes.rawOfSix !== undefined && { six: shapes.rawOfSix }),
  },
  {
    ...row,
    name: `${name}, in a query of a model`,
    scene: row.scene('model'),
    shape: shapes.model,
    ...(shapes.modelOfSix !== undefined && { six: shapes.modelOfSix }),
  },
]
