import type { Page, Route } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import { servePage, useBrowser } from '../support/browser.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serveOrders } from './orderServer.js'

const db = useDatabase()
const browser = useBrowser()

beforeEach(() => db.query('truncate orders'))

/** What happens to one request of the page: `lose` lets the server answer, and the answer is lost. */
type Turn = 'pass' | 'lose' | 'hold'

async function openShop(script = 'test/browser/page/orderPage.tsx') {
  const api = await serveOrders(db)
  const base = await servePage(script)
  const as = (user: string) => `${base}?${new URLSearchParams({ api, user })}`
  const page = await browser.open(as('alice'))
  const keys: string[] = []
  const turns: Turn[] = []
  const held: Route[] = []
  await page.route(`${api}/**`, async (route) => {
    const sent = route.request().postData()
    if (sent === null) return route.continue()
    for (const call of Object.values(JSON.parse(sent) as Record<string, { '~idempotency': { key: string } }>)) {
      keys.push(call['~idempotency'].key)
    }
    const turn = turns.shift() ?? 'pass'
    if (turn === 'pass') return route.continue()
    await route.fetch()
    if (turn === 'hold') held.push(route)
    else await route.abort()
  })
  return { page, as, keys, turns, held }
}

const shows = (page: Page, output: string, text: string | RegExp) =>
  expect.poll(() => page.locator(`#${output}`).textContent()).toMatch(text)

const button = (page: Page, name: string) => page.getByRole('button', { name })

const milk = [{ customer: 'alice', item: 'milk', cents: 120 }]
const tea = { customer: 'alice', item: 'tea', cents: 350 }

test('a double click on a form is one order; a click after its success is another one', async () => {
  const { page, keys, turns, held } = await openShop()
  turns.push('hold')
  await button(page, 'Order').dblclick()
  await shows(page, 'intent', 'in flight')
  await expect.poll(() => held.length).toBe(1)
  await button(page, 'Order').click()
  expect(keys).toHaveLength(1)
  // Its answer is lost, and the page sends it again.
  await held[0]?.abort()
  await shows(page, 'intent', 'unresolved')
  await button(page, 'Order').click()
  await shows(page, 'form', /^order \d+: tea$/)
  expect(new Set(keys).size).toBe(1)
  expect(await db.orders()).toEqual([tea])
  await button(page, 'Order').click()
  await expect.poll(db.orders).toEqual([tea, tea])
})

test('what a form sent and may have been executed is found out or given up before something else is ordered', async () => {
  const { page, keys, turns } = await openShop()
  turns.push('lose')
  await button(page, 'Order').click()
  await shows(page, 'form', 'failed')
  await page.locator('[name=item]').fill('cake')
  await button(page, 'Order').click()
  await shows(page, 'form', 'unresolved')
  await button(page, 'Try again').click()
  await shows(page, 'form', /^order \d+: tea$/)
  expect(new Set(keys).size).toBe(1)

  turns.push('lose')
  await button(page, 'Order').click()
  await shows(page, 'intent', 'unresolved')
  await button(page, 'Give up').click()
  await shows(page, 'intent', 'idle')
  await page.locator('[name=item]').fill('tea')
  await button(page, 'Order').click()
  await expect.poll(db.orders).toEqual([tea, { ...tea, item: 'cake' }, tea])
  expect(new Set(keys).size).toBe(3)
})

test('useMutation in a component that is rendered all the time: its retries are one order, and it shows the answer', async () => {
  const { page, keys, turns } = await openShop()
  turns.push('lose', 'lose')
  await button(page, 'Milk').click()
  await shows(page, 'milk', 'milk')
  expect(Number(await page.locator('#renders').textContent())).toBeGreaterThan(10)
  expect([keys.length, new Set(keys).size]).toEqual([3, 1])
  expect(await db.orders()).toEqual(milk)
})

test('clicked without a network, it is sent once when the network is back', async () => {
  const { page, keys } = await openShop()
  await page.context().setOffline(true)
  await button(page, 'Milk').click()
  await shows(page, 'milk', 'paused')
  expect(keys).toEqual([])
  await page.context().setOffline(false)
  await shows(page, 'milk', 'milk')
  expect(keys).toHaveLength(1)
  expect(await db.orders()).toEqual(milk)
})

test('a page that is closed without a network leaves its mutation to the next one: one order, and its answer', async () => {
  const { page, as, keys } = await openShop()
  await page.context().setOffline(true)
  await button(page, 'Milk').click()
  await shows(page, 'milk', 'paused')
  await page.goto('about:blank')
  await page.context().setOffline(false)
  await page.goto(as('alice'))
  await shows(page, 'mutations', /^{"id":\d+,"item":"milk"}$/)
  expect(keys).toHaveLength(1)
  expect(await db.orders()).toEqual(milk)
})

test('a reload while a mutation is in flight: the next page is answered, and there is one order', async () => {
  const { page, keys, turns, held } = await openShop()
  turns.push('hold')
  await button(page, 'Milk').click()
  await expect.poll(() => held.length).toBe(1)
  await page.reload()
  await shows(page, 'mutations', /^{"id":\d+,"item":"milk"}$/)
  expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  expect(await db.orders()).toEqual(milk)
})

test('a reload as somebody else sends nothing, and keeps the mutation for its owner, who is answered', async () => {
  const { page, as, keys, turns, held } = await openShop()
  turns.push('hold')
  await button(page, 'Milk').click()
  await expect.poll(() => held.length).toBe(1)
  await page.goto(as('bob'))
  await shows(page, 'others', '1')
  await shows(page, 'mutations', /^"pending"$/)
  await page.goto(as('alice'))
  await shows(page, 'mutations', /^{"id":\d+,"item":"milk"}$/)
  expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  expect(await db.orders()).toEqual(milk)
})

test('the classic hooks keep one key over their retries, too', async () => {
  const { page, keys, turns } = await openShop('test/browser/page/classicPage.tsx')
  turns.push('lose', 'lose')
  await button(page, 'Milk').click()
  await shows(page, 'milk', 'milk')
  expect([keys.length, new Set(keys).size]).toEqual([3, 1])
  await button(page, 'Milk').click()
  await expect.poll(db.orders).toEqual([...milk, ...milk])
  expect(new Set(keys).size).toBe(2)
})
