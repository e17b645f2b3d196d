/** The key of a UUIDv7 whose birth is `ms`, an expression in SQL; `random` is one of 32 hexadecimal digits. */
export function keyOf(ms: string, random: string): string {
  const hex = `lpad(to_hex(${ms}), 12, '0')`
  return `substr(${hex}, 1, 8) || '-' || substr(${hex}, 9) || '-7' || substr(${random}, 1, 3) || '-8' ||
    substr(${random}, 4, 3) || '-' || substr(${random}, 7, 12)`
}

/** What the library stores for an order of 200 bytes, from expressions for key and scope. */
export function settledRow(key: string, random: string): string {
  return `${key}, 'user-' || substr(${random}, 1, 4), 'order.create', decode('01' || ${random} || ${random}, 'hex'), 'settled',
    '{"id":1,"note":"' || repeat(${random}, 5) || '","cents":1200}', 'value', 1, 1, clock_timestamp(), clock_timestamp()`
}

export const COLUMNS =
  '(key, scope, procedure, fingerprint, status, result, result_kind, fence, attempts, claimed_at, settled_at)'
