import { createTRPCClient, httpLink } from '@trpc/client'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { runInScope } from '../../client/scope.js'
import { startScriptedServer, success } from '../support/scriptedServer.js'
import { type Shop, untyped } from '../support/untypedClient.js'

function client(url: string) {
  return createTRPCClient<Shop>({
    links: [untyped({ mutations: { create: true }, baseDelayMs: 1 }), httpLink({ url })],
  })
}

const keysOf = (requests: { body: string }[]) =>
  requests.map(({ body }) => (JSON.parse(body) as { '~idempotency'?: { key: string } })['~idempotency']?.key)

test('a mutation that is called in a scope has its key; one that is called after it waited has its own', async () => {
  const server = await startScriptedServer([success('done')])
  const { create, cancel } = client(server.url)
  const key = v7()
  const taken: string[] = []
  const scope = {
    takeKey(path: string) {
      taken.push(path)
      return key
    },
  }
  await runInScope(scope, async () => {
    await cancel.mutate({})
    await create.mutate({})
  })
  await runInScope(scope, () => create.mutate({}))
  const keys = keysOf(server.requests)
  expect(keys[0]).toBeUndefined()
  expect(keys[1]).not.toBe(key)
  expect(keys[2]).toBe(key)
  // A mutation that is not listed takes none.
  expect(taken).toEqual(['create'])
})

test('a key that the caller brings goes before that of the scope, and a scope inside another one is its own', async () => {
  const server = await startScriptedServer([success('done')])
  const { create } = client(server.url)
  const [brought, inner, outer] = [v7(), v7(), v7()]
  const scopeOf = (key: string) => ({ takeKey: () => key })
  await runInScope(scopeOf(outer), () =>
    Promise.all([
      create.mutate({}, { context: { idempotencyKey: brought } }),
      runInScope(scopeOf(inner), () => create.mutate({})),
      create.mutate({}),
    ]),
  )
  expect(new Set(keysOf(server.requests))).toEqual(new Set([brought, inner, outer]))
  expect(() =>
    runInScope(scopeOf(outer), () => {
      throw new Error('in the scope')
    }),
  ).toThrow('in the scope')
  await create.mutate({})
  expect([brought, inner, outer]).not.toContain(keysOf(server.requests)[3])
})
