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
  const time = hex(birth).padStart(12, '0')
  const random = Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => hex(byte + 256).slice(1)).join('')
  // The version, 7, and the variant: two bits of the digit are 10, the other two are random.
  const variant = hex(8 + (Number.parseInt(random.slice(6, 8), 16) % 4))
  const digits = `${time}7${random.slice(0, 3)}${variant}${random.slice(3, 6)}${random.slice(8)}`
  return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

function hex(whole: number): string {
  return whole.toString(16)
}
