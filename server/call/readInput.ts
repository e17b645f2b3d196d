import { copyForm } from '../../wire/envelope.js'
import { canonicalText } from '../engine/fingerprint.js'
import { fromText, type Serializer } from '../engine/serializer.js'
import { findTransient } from '../engine/transient.js'
import { IdempotencyError } from '../errors.js'
import { canonicalForm } from './formInput.js'
import type { RequestHeaders } from './headers.js'
import { digestedStream, readDigest } from './octetInput.js'

/** An input that can be told from others, and given to a handler. */
export interface ReadInput {
  /** The same for equal inputs, another for any other: what the fingerprint is made of. `null` for `undefined`. */
  canonical: string | null
  /** The input for one run of the handler, as the caller gave it, whatever the run before did with its own. */
  forRun(): unknown
  /** Whether it can be given to a second run. */
  repeatable: boolean
  /** Once the handler is done: whether the input was what `canonical` says of it. */
  wasTrue(): Promise<boolean>
  /** Whether it was found to be something else so far. */
  isKnownToBeFalse(): boolean
}

/** An input that was there as a whole when it was read. */
const WHOLE = { repeatable: true, wasTrue: async () => true, isKnownToBeFalse: () => false }

/**
 * Reads an input of any of tRPC's three content types.
 *
 * @returns `undefined` for a stream without a digest of its bytes
 * @throws IdempotencyError INPUT_INVALID for an input that has no fingerprint; TypeError for one that only a caller in
 *   this process can give
 */
export async function readInput(
  input: unknown,
  { serializer, headers, path }: { serializer: Serializer; headers: RequestHeaders | undefined; path: string },
): Promise<ReadInput | undefined> {
  if (input instanceof FormData) {
    return { ...WHOLE, canonical: await canonicalForm(input), forRun: () => copyForm(input) }
  }
  if (input instanceof ReadableStream) {
    const digest = headers === undefined ? undefined : readDigest(headers)
    if (digest === undefined) return undefined
    const { stream, ...truth } = digestedStream(input, digest)
    // No JSON begins like this, and no form.
    return { ...truth, canonical: `octets ${digest}`, forRun: () => stream, repeatable: false }
  }
  const canonical = canonicalOf(input, path, serializer)
  let runs = 0
  return {
    ...WHOLE,
    canonical,
    forRun() {
      runs += 1
      // A copy of what it was, where the run before changed it.
      return runs === 1 || isStill(canonical) ? input : fromText(canonical, serializer)
    },
  }

  function isStill(text: string | null): boolean {
    try {
      return canonicalOf(input, path, serializer) === text
    } catch {
      return false // it was changed into what has no fingerprint at all
    }
  }
}

function canonicalOf(input: unknown, path: string, serializer: Serializer): string | null {
  let transient: string | undefined
  try {
    transient = findTransient(input)
    if (transient === undefined) return canonicalText(input, serializer)
  } catch (cause) {
    throw inputInvalid(path, cause)
  }
  throw new TypeError(`${path}: the input holds ${transient}, which has no fingerprint`)
}

/** It nests deeper than the stack, unfolds to an immense text, or holds half a character: what no JSON has. */
function inputInvalid(path: string, cause: unknown): IdempotencyError {
  return new IdempotencyError(
    'INPUT_INVALID',
    `${path}: the input cannot be told from others: the serializer refused it, or it nests too deeply, unfolds to too much, or holds half of a surrogate pair.`,
    { cause },
  )
}
