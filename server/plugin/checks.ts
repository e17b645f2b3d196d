import { jsonSerializer, type Serializer } from '../engine/serializer.js'
import type { Builder } from './procedure.js'
import { unwrapInput } from './unwrapInput.js'

/** What is known of a procedure builder when it is wrapped. */
export interface Wrapping {
  serializer: Serializer
  /** Whether keys can arrive in a header, which leaves the input as it is. */
  readsHeaders: boolean
  storesErrors: boolean
}

/**
 * Checks, when a procedure is wrapped, what would go wrong with every call of it.
 *
 * @throws TypeError that says what to do instead
 */
export function checkProcedure(procedure: object, { serializer, readsHeaders, storesErrors }: Wrapping): void {
  const builder = procedure as Builder
  checkSerializer(builder, serializer)
  if (storesErrors) checkShapes(builder)
  checkOrder(builder, readsHeaders)
}

/** A router that sends Dates needs a serializer that stores them: plain JSON would replay them as text. */
function checkSerializer({ _def }: Builder, serializer: Serializer): void {
  const transformer = _def.config?.transformer
  const probe = {}
  if (serializer !== jsonSerializer || transformer === undefined || transformer.output.serialize(probe) === probe)
    return
  throw new TypeError('createIdempotency: this router has a transformer; give the same one as the option serializer')
}

/** A stored error is answered in its shape by `.errors()`, and made into one with the router's config. */
function checkShapes(builder: Builder): void {
  if (builder.errors !== undefined && builder._def.config !== undefined) return
  throw new TypeError('storeError needs a tRPC whose procedures have .errors(), 11.22 or later')
}

function checkOrder({ _def }: Builder, readsHeaders: boolean): void {
  const middlewares = _def.middlewares ?? []
  if (middlewares.some(({ _type }) => _type === 'output')) {
    throw new TypeError(
      'an idempotent procedure must not have its .output() before the wrapper: it would refuse the result after the commit, and every retry would replay into the same error. Put .output() after idempotency.transaction(...) or idempotency.lease(...)',
    )
  }
  const input = middlewares.findIndex(({ _type }) => _type === 'input')
  const unwrapped = (middlewares as unknown[]).indexOf(unwrapInput)
  if (input === -1 || readsHeaders || (unwrapped !== -1 && unwrapped < input)) return
  throw new TypeError(
    'an idempotent procedure has its .input() before the wrapper, where it would be given the envelope that carries the key. Put .input() after the wrapper, or .use(unwrapInput) before it',
  )
}
