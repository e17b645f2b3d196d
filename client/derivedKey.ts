/** What another key may decide of a UUIDv7: all but its time, its version and its variant. */
const FREE_BITS = 0xfff_3fff_ffff_ffff_ffffn

/**
 * The key of a further mutation of one intent: the same one whenever it is derived again, so that a repeat of the intent
 * repeats this mutation too. It has its parent's birth.
 *
 * The parent's random bits stay in it, turned over by a hash of ordinal and path: keys of two parents differ as the
 * parents do, in 74 bits. Not by SHA-256, as the server derives its own: browsers have that in `crypto.subtle` alone, which
 * is asynchronous, and a key has to be known before the mutation is called. Nothing here has to resist anybody: who can
 * choose a path has the key already.
 *
 * @param key a UUIDv7
 * @param ordinal its place among the mutations of the intent
 */
export function deriveKey(key: string, ordinal: number, path: string): string {
  const parent = BigInt(`0x${key.replaceAll('-', '')}`)
  const hash = fnv1a(`${ordinal}:${path}`)
  // The upper half is folded in: FNV mixes its last bytes into the lower bits only slowly.
  const derived = parent ^ ((hash ^ (hash >> 64n)) & FREE_BITS)
  const digits = derived.toString(16).padStart(32, '0')
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/**
 * The hash FNV-1a in 128 bits.
 *
 * @see https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
 */
function fnv1a(text: string): bigint {
  let hash = 0x6c62272e07bb014262b821756295c58dn
  for (const byte of new TextEncoder().encode(text)) {
    hash = BigInt.asUintN(128, (hash ^ BigInt(byte)) * 0x1000000000000000000013bn)
  }
  return hash
}
