import { createRequire } from 'node:module'
import * as newest from '@tanstack/react-query'

/** What the tests use of TanStack Query: the same for each version of it. */
export type TanStack = Pick<
  typeof newest,
  'QueryClient' | 'MutationObserver' | 'dehydrate' | 'hydrate' | 'onlineManager'
>

const require = createRequire(new URL('../house/oldest/package.json', import.meta.url))

export const OLDEST = require('@tanstack/react-query/package.json') as { version: string }

/** The newest version, and the oldest that the peer range names. */
export const VERSIONS: [string, TanStack][] = [
  ['newest', newest],
  ['oldest', require('@tanstack/react-query') as typeof newest],
]
