import { beforeAll, expect, test } from 'vitest'
import { prismaDatabase } from '../../server/store/prisma.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { byPrisma } from '../support/prismaVersion.js'
import { CONNECTION_ROWS } from './faults/connectionRows.js'
import type { Told } from './faults/row.js'
import { ONE, TWO } from './faults/scenes.js'
import { shapeOf } from './faults/shapeOf.js'
import { type Played, play } from './faults/stage.js'
import { STATEMENT_ROWS } from './faults/statementRows.js'

/*
 * Every shape in which Prisma 6 and 7 hand the database's errors over with a driver adapter, provoked for real: the
 * rows are in faults/*Rows.ts, the means in faults/scenes.ts and faults/endedScenes.ts.
 *
 * Not here, because it could not be provoked: P2024, a full pool of the query engine that Prisma 6 has without a driver
 * adapter. That engine is a program which Prisma's own server hands out and npm does not; the client with an adapter,
 * of either version, does not know the code. What it would mean is the same as the rows about pools that have no
 * connection to give: no word from Postgres, before the handler has started. Nor are ETIMEDOUT of a network that
 * swallows packets, and 08006, 08003 and 08P01, of which 08001 is here as one of their class.
 */

const db = useDatabase()

beforeAll(async () => {
  await db.query(`insert into orders (id, customer, item, cents) values (${ONE}, 'a', 'a', 0), (${TWO}, 'b', 'b', 0)`)
})

const rows = [...STATEMENT_ROWS, ...CONNECTION_ROWS].map((row) => [row.name, row.told, row] as const)

test.each(rows)('%s: %s', async (_name, _told, { scene, shape, six = shape, fault, told }) => {
  const played = await play(scene, db)
  expect(shapeOf(played.error)).toEqual(byPrisma({ six, seven: shape }))
  expect(prismaDatabase(db.prisma).faultOf(played.error)).toBe(fault)
  expect(toldIn(played)).toBe(told)
})

function toldIn({ answer, runs, said }: Played): Told | string {
  if (answer.status === 200) return `answer of the ${runs === 1 ? 'first' : 'second'} run`
  if (said === undefined) return 'own error'
  const { reason, attemptOutcome } = said as { reason: string; attemptOutcome: string }
  return `${reason} ${attemptOutcome}`
}
