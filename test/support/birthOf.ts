/** The birth of a UUIDv7 in milliseconds since 1970: its first 48 bits. */
export function birthOf(key: string): number {
  return Number.parseInt(key.replaceAll('-', '').slice(0, 12), 16)
}
