import type { CorsOptions } from 'cors'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { servePage, useBrowser } from '../support/browser.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serveAcrossOrigins } from './corsServer.js'
import type { CorsPage } from './page/corsPage.js'

const db = useDatabase()
const browser = useBrowser()

declare const page: CorsPage

/** As docs/wire.md gives it. */
const RECIPE: CorsOptions = {
  allowedHeaders: ['content-type', 'idempotency-key', 'content-digest'],
  exposedHeaders: ['idempotency-replayed', 'retry-after'],
}

async function setUp(options: CorsOptions) {
  const key = v7()
  const url = await serveAcrossOrigins(db.prisma, options)
  const opened = await browser.open(await servePage('test/browser/page/corsPage.ts'))
  return {
    order: (carrier: 'input' | 'header') => opened.evaluate((of) => page.order(of), { url, key, carrier }),
    orders: () => db.query('select item from orders where customer = $1', [key]),
  }
}

test('with the recipe a page of another origin sends its key in a header, and sees the marker of a replay', async () => {
  const { order, orders } = await setUp(RECIPE)
  expect(await order('header')).toEqual({ answer: 'tea', replayed: null })
  expect(await order('header')).toEqual({ answer: 'tea', replayed: 'true' })
  expect(await orders()).toEqual([{ item: 'tea' }])
})

test('without the header in allowedHeaders the browser sends nothing, and the outcome stays unknown to the page', async () => {
  const { order, orders } = await setUp({ ...RECIPE, allowedHeaders: ['content-type'] })
  expect(await order('header')).toEqual({ outcome: 'UNKNOWN' })
  expect(await orders()).toEqual([])
})

test('without exposedHeaders the answer comes, and the marker stays hidden', async () => {
  const { order } = await setUp({ ...RECIPE, exposedHeaders: [] })
  for (const _ of [1, 2]) expect(await order('header')).toEqual({ answer: 'tea', replayed: null })
})

test('a key that travels in the input needs no change of CORS', async () => {
  const { order, orders } = await setUp({ allowedHeaders: ['content-type'] })
  for (const _ of [1, 2]) expect(await order('input')).toEqual({ answer: 'tea', replayed: null })
  expect(await orders()).toEqual([{ item: 'tea' }])
})
