import { checkKey } from '../engine/key.js'
import type { ScopedKey } from '../engine/record.js'
import { checkScope } from '../engine/scope.js'
import { IdempotencyError } from '../errors.js'

/**
 * Checks what an operator named.
 *
 * @param word what the operator asked for, to begin a complaint with
 * @throws IdempotencyError KEY_INVALID or SCOPE_MISSING
 */
export function scopedKey(word: string, of: { scope: string; key: string }): ScopedKey {
  const key = checkKey(of.key)
  if (!key.ok) throw new IdempotencyError('KEY_INVALID', `${word}: ${key.complaint}.`)
  const scope = checkScope(of.scope)
  if (!scope.ok) throw new IdempotencyError('SCOPE_MISSING', `${word}: the scope is none: ${scope.complaint}.`)
  return { key: key.key, birth: key.birth, scope: scope.scope }
}
