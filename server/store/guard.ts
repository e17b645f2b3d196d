import type { IdleWatch } from './idleWatch.js'
import { type InTransaction, type OpenTransaction, runInside } from './openTransaction.js'

/** A client that can be closed while others still hold it. */
export interface Guarded<Client> {
  client: Client
  /** Runs what works with it, inside for all that `guardClient` guards, until it is closed. */
  within<T>(inside: InTransaction & { idle: IdleWatch | undefined }, body: () => Promise<T>): Promise<T>
  /** Refuses whatever is started from now on, and waits for what is running. */
  close(): Promise<void>
  /** Whether each of its operations so far was seen to send something on the transaction's own connection. */
  allSeen(): boolean
}

/**
 * Guards the client that a handler works with. A query that the handler left floating could fail between the settle and
 * COMMIT: Postgres then rolls back without a word, and the handler's caller is told of a success that is not there. So
 * the client is closed before the settle, and what still runs is waited for; if it failed, the settle fails.
 *
 * @param complaint what a late use is told
 * @param seen how many statements were seen on the transaction's connection; `undefined` where nobody looks
 */
export function guard<Client extends object>(
  client: Client,
  { complaint, seen }: { complaint: string; seen(): number | undefined },
): Guarded<Client> {
  const running = new Set<Promise<unknown>>()
  const views = new WeakMap<object, object>()
  let closed = false
  let allSeen = true
  let watch: IdleWatch | undefined
  let leave = () => {}

  const refuseLateUse = () => {
    if (closed) throw new Error(complaint)
  }

  const track = (thenable: PromiseLike<unknown>) => {
    const before = seen()
    const ended: Promise<unknown> = new Promise<void>((resolve) => {
      thenable.then(
        () => resolve(),
        () => resolve(),
      )
    }).then(() => {
      running.delete(ended)
      if (seen() === before) allSeen = false
      if (running.size === 0 && !closed) watch?.begin()
    })
    running.add(ended)
    watch?.end()
  }

  const view = (value: unknown): unknown => {
    if (!isObject(value)) return value
    const known = views.get(value)
    if (known !== undefined) return known
    const made = isPending(value) ? viewOfPending(value) : new Proxy(value, handlers)
    views.set(value, made)
    return made
  }

  const handlers: ProxyHandler<object> = {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return view(value)
      return (...args: unknown[]) => {
        refuseLateUse()
        return view(Reflect.apply(value, target, args))
      }
    },
  }

  /** Prisma's promises run nothing until somebody waits for them, which can be long after they were made. */
  const viewOfPending = (pending: PromiseLike<unknown> & object): object => {
    if (!isLazy(pending)) {
      track(pending)
      return pending
    }
    return new Proxy(pending, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          refuseLateUse()
          if (name === 'then' || name === 'catch' || name === 'finally') track(target)
          return view(Reflect.apply(value, target, args))
        }
      },
    })
  }

  return {
    client: new Proxy(client, handlers) as Client,
    within({ idle, ...transaction }, body) {
      const inside: OpenTransaction = { ...transaction, open: true }
      leave = () => {
        inside.open = false
        idle?.end()
      }
      watch = idle
      idle?.begin()
      return runInside(inside, body)
    },
    async close() {
      closed = true
      leave()
      while (running.size > 0) await Promise.all(running)
    },
    allSeen: () => allSeen,
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isPending(value: object): value is PromiseLike<unknown> & object {
  return 'then' in value && typeof value.then === 'function'
}

function isLazy(pending: object): boolean {
  return (pending as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === 'PrismaPromise'
}
