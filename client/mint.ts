/**
 * Makes a key: a UUIDv7, in lower case.
 *
 * Written out here, because the package for it weighs five times as much and would take a sixth of what this door may
 * weigh. Not by `crypto.randomUUID`, which browsers give to https pages alone.
 *
 * @param birth milliseconds since 1970
 * @see https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7
 */
export function mintKey(birth: number): string {
  const time = birth.toString(16).padStart(12, '0')
  const [a = 0, b = 0, ...rest] = crypto.getRandomValues(new Uint16Array(5))
  // The version is 7; the variant is the two highest bits of what follows, 10.
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(a).slice(1)}-${hex(0x8000 + (b % 0x4000))}-${rest.map(hex).join('')}`
}

/** Sixteen bits as four digits. */
function hex(bits: number): string {
  return (bits + 0x10000).toString(16).slice(1)
}
