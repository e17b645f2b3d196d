/** How many times longer than the input its text may be, once what is shared is written out again. */
const MOST_UNFOLDED_EACH = 10
/** Below this many values there is nothing to fear. */
const FEW = 1_000_000

/**
 * A copy with sorted properties. Canonical JSON would sort them too, but a transformer names the places of shared
 * values by the path it met first, and that depends on their order. What is shared stays shared.
 *
 * @throws RangeError where shared values would unfold to an immense text: thirty objects that each hold the next one
 *   twice are a billion, and a transformer that keeps sharing brings them in a kilobyte
 */
export function inOrder(value: unknown): unknown {
  const walk: Walk = { seen: new Map(), held: 0 }
  const { unfolded, copy } = visit(value, walk)
  if (unfolded > FEW && unfolded > walk.held * MOST_UNFOLDED_EACH) {
    throw new RangeError(`the input unfolds to ${unfolded} values`)
  }
  return copy
}

interface Walk {
  seen: Map<object, Seen>
  /** How many values the input holds, each shared one counted once. */
  held: number
}

interface Seen {
  copy: unknown
  /** How many values it is when written out. */
  unfolded: number
}

function visit(value: unknown, walk: Walk): Seen {
  const known = walk.seen.get(value as object)
  if (known !== undefined) return known
  const entry: Seen = { copy: value, unfolded: 1 }
  walk.held += 1
  if (typeof value !== 'object' || value === null) return entry
  walk.seen.set(value, entry)
  const inside = (part: unknown): unknown => {
    const visited = visit(part, walk)
    entry.unfolded += visited.unfolded
    return visited.copy
  }
  // The copy is entered before its parts are visited: a part may be the whole.
  if (Array.isArray(value)) {
    const copy: unknown[] = []
    entry.copy = copy
    for (const item of value) copy.push(inside(item))
  } else if (value instanceof Map) {
    const copy = new Map<unknown, unknown>()
    entry.copy = copy
    for (const [key, item] of value) copy.set(inside(key), inside(item))
  } else if (value instanceof Set) {
    const copy = new Set<unknown>()
    entry.copy = copy
    for (const item of value) copy.add(inside(item))
  } else if (isPlain(value)) {
    const copy: Record<string, unknown> = {}
    entry.copy = copy
    for (const key of Object.keys(value).sort()) {
      // Not by assignment: a property named __proto__ would set the prototype instead.
      const item = inside(value[key])
      Object.defineProperty(copy, key, { value: item, enumerable: true, configurable: true, writable: true })
    }
  }
  return entry // any other object as it is: the transformer knows what it is
}

function isPlain(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
