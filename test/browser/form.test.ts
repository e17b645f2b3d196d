import type { BrowserContext, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useBrowser } from '../support/browser.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Fault, startFaultProxy } from '../support/faultProxy.js'
import { serveForm } from './formServer.js'

const db = useDatabase()
const browser = useBrowser()

interface Shop {
  url: string
  profile: BrowserContext
  /** Opens a tab in which somebody is signed in. */
  open(user?: string): Promise<Page>
  /** How many requests of the API came, and with how many keys. */
  sent(): { requests: number; keys: number }
}

/** The shop behind a network that does to the requests of its API what `plan` says. */
async function shop(plan: Fault[] = []): Promise<Shop> {
  await db.query('truncate orders, idempotency_keys, idempotency_recovery_points')
  const { url, bodies } = await startFaultProxy(await serveForm(db.prisma), plan, '/trpc/')
  const profile = await browser.profile()
  return {
    url,
    profile,
    async open(user = 'alice') {
      const page = await profile.newPage()
      await page.addInitScript((name) => localStorage.setItem('user', name), user)
      await page.goto(url)
      return page
    },
    sent() {
      const keys = bodies.map((body) => /"key":"([^"]+)"/.exec(body)?.[1])
      return { requests: bodies.length, keys: new Set(keys).size }
    },
  }
}

const order = (page: Page) => page.getByRole('button', { name: 'Order' }).click()
const lines = (page: Page) => page.locator('#answers li').allTextContents()
const shows = (page: Page, ...text: string[]) => expect.poll(() => lines(page)).toEqual(text)

const ALICES = [{ customer: 'alice', item: 'tea', cents: 350 }]

test.each<[string, Fault]>([
  ['before the request was sent', 'cutBefore'],
  ['after the server worked', 'cutAfter'],
  ['in the middle of the answer', 'cutBody'],
  ['by a gateway that answers itself', '502 HTML'],
])('a network that is cut %s: the page ends with the answer, and there is one order', async (_, fault) => {
  const { open, sent } = await shop([fault])
  const page = await open()
  await order(page)
  await shows(page, 'ready', 'ordered: tea for alice')
  expect(await db.orders()).toEqual(ALICES)
  expect(sent()).toMatchObject({ keys: 1 })
})

test('a tab that is closed while its order is under way: the next one ends with its answer, and there is one order', async () => {
  const { open, sent } = await shop(['hang'])
  const first = await open()
  await order(first)
  await expect.poll(() => db.orders()).toEqual(ALICES)
  await first.close()
  const second = await open()
  await shows(second, 'resumed: tea for alice', 'ready')
  expect(await db.orders()).toEqual(ALICES)
  expect(sent()).toEqual({ requests: 2, keys: 1 })
  // Nothing is left for a third.
  await shows(await open(), 'ready')
})

test('a tab that is reloaded before its request arrived: the order is made by the next page, once', async () => {
  const { open } = await shop([
    'cutBefore',
    'cutBefore',
    'cutBefore',
    'cutBefore',
    'cutBefore',
    'cutBefore',
    'cutBefore',
  ])
  const page = await open()
  await order(page)
  await shows(page, 'ready', 'unknown')
  expect(await db.orders()).toEqual([])
  await page.reload()
  await shows(page, 'resumed: tea for alice', 'ready')
  expect(await db.orders()).toEqual(ALICES)
})

test('two tabs that resume at once: one of them sends, and there is one order', async () => {
  const { open, profile, url, sent } = await shop(['hang'])
  const first = await open()
  await order(first)
  await expect.poll(() => db.orders()).toEqual(ALICES)
  const tabs = [await profile.newPage(), await profile.newPage()]
  await first.close()
  await Promise.all(tabs.map((tab) => tab.goto(url)))
  await expect
    .poll(async () => (await Promise.all(tabs.map(lines))).flat().sort())
    .toEqual(['ready', 'ready', 'resumed: tea for alice'])
  expect(await db.orders()).toEqual(ALICES)
  expect(sent()).toEqual({ requests: 2, keys: 1 })
})

test('somebody else who is signed in after the reload: nothing is sent in his name, and the order waits for whom it belongs to', async () => {
  const { open, sent } = await shop(['hang'])
  const alices = await open('alice')
  await order(alices)
  await expect.poll(() => db.orders()).toEqual(ALICES)
  await alices.close()
  const bobs = await open('bob')
  await shows(bobs, 'event: foreign', 'ready')
  expect(sent().requests).toBe(1)
  expect(await db.orders()).toEqual(ALICES)
  await bobs.close()
  await shows(await open('alice'), 'resumed: tea for alice', 'ready')
  expect(await db.orders()).toEqual(ALICES)
})

test('while the browser is offline nothing is sent; once it is online, the order is made, once', async () => {
  const { open, profile, sent } = await shop()
  const page = await open()
  await shows(page, 'ready')
  await profile.setOffline(true)
  await order(page)
  // A page that is asked for something else meanwhile has had the time to send.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)))
  expect(sent().requests).toBe(0)
  await profile.setOffline(false)
  await shows(page, 'ready', 'ordered: tea for alice')
  expect(await db.orders()).toEqual(ALICES)
})

test('an order that is made offline and outlived by nothing but the journal is sent by the next page', async () => {
  const { open, profile } = await shop()
  const page = await open()
  await shows(page, 'ready')
  await profile.setOffline(true)
  await order(page)
  const kept = () =>
    page.evaluate(
      () =>
        new Promise((resolve) => {
          const opening = indexedDB.open('shop')
          opening.onsuccess = () => {
            const all = opening.result.transaction('intents').objectStore('intents').getAll()
            all.onsuccess = () => resolve(all.result.map(({ path }: { path: string }) => path))
          }
        }),
    )
  await expect.poll(kept).toEqual(['order'])
  await page.close()
  await profile.setOffline(false)
  await shows(await open(), 'resumed: tea for alice', 'ready')
  expect(await db.orders()).toEqual(ALICES)
})

test('a page that the browser keeps while it is left, with its order under way: it goes on, and there is one order', async () => {
  const { open, url, sent } = await shop(['hang'])
  const page = await open()
  await order(page)
  await expect.poll(() => db.orders()).toEqual(ALICES)
  await page.goto(`${url}/elsewhere`)
  await page.goBack({ waitUntil: 'commit' })
  // The attempt that was under way is given up after its timeout, and sent again by the very same page.
  await shows(page, 'ready', 'kept', 'ready', 'ordered: tea for alice')
  expect(await db.orders()).toEqual(ALICES)
  expect(sent()).toEqual({ requests: 2, keys: 1 })
})

test('a page that is left with its order under way, and loaded anew by going back: it ends with the answer, and there is one order', async () => {
  const { open, url, sent } = await shop(['hang'])
  const page = await open()
  // What listens to this event is not kept by the browser.
  await page.evaluate(() => addEventListener('unload', () => undefined))
  await order(page)
  await expect.poll(() => db.orders()).toEqual(ALICES)
  await page.goto(`${url}/elsewhere`)
  await page.goBack()
  await shows(page, 'resumed: tea for alice', 'ready')
  expect(await db.orders()).toEqual(ALICES)
  expect(sent()).toEqual({ requests: 2, keys: 1 })
})

test('two clicks are two intents, and two orders', async () => {
  const { open, sent } = await shop()
  const page = await open()
  await order(page)
  await order(page)
  await shows(page, 'ready', 'ordered: tea for alice', 'ordered: tea for alice')
  expect(await db.orders()).toEqual([...ALICES, ...ALICES])
  expect(sent().keys).toBe(2)
})
