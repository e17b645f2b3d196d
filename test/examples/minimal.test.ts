import { expect, test } from 'vitest'
import { start } from './command.js'

test('the minimal example sends an order twice and makes one', async () => {
  const run = start('npm', ['run', '--silent', 'minimal'])
  const { exitCode, stdout } = await run.ended
  expect(stdout).toBe('Sent twice with one key: order 1, then order 1.\nOrders in the database: 1.\n')
  expect(exitCode).toBe(0)
  expect(run.postgresFolders()).toEqual([])
})
