import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { keyWithBirthOf } from '../engine/derivedKey.js'
import type { Fingerprint, ScopedKey, StoredResult } from '../engine/record.js'

/** How what is stored of an operation reads at rest. */
export interface Sealed {
  /** The key that the row is found by. Its birth is the same, so that index and sweep see no difference. */
  readonly key: string
  /** Tells a repeat from a reuse, and does not tell the input to somebody who guesses at it. */
  fingerprint(of: Fingerprint): Fingerprint
  /** @param place where the text is stored: it opens nowhere else */
  close(place: string, text: StoredResult): StoredResult
  /** @returns `undefined` where it was not sealed for this operation and this place, by the secret of its time */
  open(place: string, text: StoredResult): { text: StoredResult } | undefined
}

export type Seal = (name: ScopedKey) => Sealed

/** A secret, and the births from which on it seals, until the next one begins. */
export interface SealPeriod {
  /** The first birth, in milliseconds since 1970. */
  readonly from: number
  /** `null`: nothing is sealed. */
  readonly secret: Uint8Array | null
}

/**
 * Chooses by the birth of a key which secret seals what is stored of it, and before the first one none. All servers choose
 * alike, whatever the time is: so while a secret is replaced, no two of them look for one operation in two places.
 */
export function sealBy(periods: readonly SealPeriod[]): Seal {
  const newestFirst = periods
    .map(({ from, secret }) => ({ from, seal: secret === null ? unsealed : sealWith(secret) }))
    .sort((a, b) => b.from - a.from)
  return (name) => (newestFirst.find(({ from }) => from <= name.birth)?.seal ?? unsealed)(name)
}

/** Everything is stored as it is. */
const unsealed: Seal = ({ key }) => ({
  key,
  fingerprint: (of) => of,
  close: (_, text) => text,
  open: (_, text) => ({ text }),
})

/** Before every sealed text, so that a later form can be told from this one. */
const FORM = 'sealed1.'
const CIPHER = 'aes-256-gcm'
/** The length that AES-GCM is made for. Random: a key of its own seals a handful of texts, so no two nonces meet. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Seals with one secret. A text opens only with both, the secret of the server and the idempotency key as its client has
 * it: and the table holds neither.
 *
 * @see https://www.rfc-editor.org/rfc/rfc5869 HKDF
 */
function sealWith(secret: Uint8Array): Seal {
  const keySecret = derive(secret, { salt: '', info: 'key' })
  const fingerprintSecret = derive(secret, { salt: '', info: 'fingerprint' })
  return (name) => {
    const { key, scope } = name
    const resultKey = () => derive(secret, { salt: key, info: `result ${scope}` })
    return {
      key: keyWithBirthOf(key, hmacOf(name, keySecret).digest('hex')),
      fingerprint(of) {
        const keyed = new Uint8Array(of)
        // Its first byte is the version, which says how the rest was made.
        keyed.set(hmacOf(name, fingerprintSecret).update(of).digest(), 1)
        return keyed as Fingerprint
      },
      close(place, text) {
        const nonce = randomBytes(NONCE_BYTES)
        const cipher = createCipheriv(CIPHER, resultKey(), nonce).setAAD(Buffer.from(place))
        // JSON has no empty text, so the empty one stands for the one that is missing.
        const sealed = [nonce, cipher.update(text ?? '', 'utf8'), cipher.final(), cipher.getAuthTag()]
        return FORM + Buffer.concat(sealed).toString('base64url')
      },
      open(place, text) {
        if (!text?.startsWith(FORM)) return undefined
        const opened = decrypt(text.slice(FORM.length), { key: resultKey(), place })
        return opened === undefined ? undefined : { text: opened === '' ? null : opened }
      },
    }
  }
}

/** @returns `undefined` where the text was sealed by another key, for another place, or changed since */
function decrypt(text: string, { key, place }: { key: Buffer; place: string }): string | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(place))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}

function derive(secret: Uint8Array, { salt, info }: { salt: string; info: string }): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, `trpc-idempotency ${info}`, 32))
}

/** Begins with the length of the scope, so that no two names read alike. */
function hmacOf({ key, scope }: ScopedKey, secret: Uint8Array) {
  return createHmac('sha256', secret).update(`${scope.length}:${scope}${key}`)
}
