import path from 'node:path'
import { v7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { type ConsumerProject, createConsumerProject } from './consumerProject.js'

const db = useDatabase()
let consumer: ConsumerProject

beforeAll(async () => {
  consumer = await createConsumerProject(path.join(import.meta.dirname, 'oldest'))
})

afterAll(() => consumer.remove())

test('with the oldest tRPC and TypeScript, context, input, output and paths keep their types', async () => {
  expect(await consumer.node('node_modules/typescript/bin/tsc', '--version')).toMatchObject({
    output: 'Version 5.7.2\n',
  })
  const { output } = await consumer.compile('nodenext')
  // The declarations of that tRPC import the types of 'ws', and tRPC does not bring them.
  const complaints = output.split('\n').filter((line) => !line.includes('@trpc/server/dist/adapters/ws.d.mts'))
  expect(complaints).toEqual([''])
})

test('with the oldest tRPC, a first call executes, its repeat replays, and an error carries its reason', async () => {
  const key = v7()
  const { exitCode, output } = await consumer.node('--import', 'tsx', 'test/house/consumer/run.ts', db.url, key)
  expect(exitCode, output).toBe(0)
  expect(JSON.parse(output)).toMatchObject({
    // 11.22 brought `.errors()`. Without it the reason travels through the router's errorFormatter.
    buildersHaveErrors: false,
    first: { id: 1, key },
    repeat: { id: 1, key },
    reuse: {
      data: {
        code: 'UNPROCESSABLE_CONTENT',
        idempotency: { reason: 'KEY_REUSED', attemptOutcome: 'NOT_EXECUTED' },
      },
      known: { key, attempts: 1, outcome: 'NOT_EXECUTED', reason: 'KEY_REUSED' },
    },
    orders: [{ customer: 'alice', item: 'tea', cents: 350 }],
  })
})
