import { createHash } from 'node:crypto'

const PREFIX = 'trpc_idempotency_'

const names = new Map<string, string>()

/**
 * What a statement is prepared as: always the same for one text, so that two versions of it never meet under one name,
 * also where a pooler shares them.
 *
 * @param sql one of the library's own, of which there are a few: names are remembered
 */
export function statementName(sql: string): string {
  const known = names.get(sql)
  if (known !== undefined) return known
  const name = PREFIX + createHash('sha256').update(sql).digest('hex').slice(0, 16)
  names.set(sql, name)
  return name
}

export function isStatementName(name: string): boolean {
  return name.startsWith(PREFIX)
}
