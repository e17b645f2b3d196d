/** What can be seen of a database's error in the shape in which Prisma hands it over. */
export interface Shape {
  name: string
  /** Prisma's own code. */
  code?: string
  /** What the driver adapter takes the error for. */
  kind?: string
  sqlState?: string
  /** Where the SQLSTATE stands in the error. */
  at?: string
  /** What else Prisma says of it, by name. */
  meta?: string[]
  /** Where nothing else tells what it is. */
  message?: string
}

const PLACES = ['meta.driverAdapterError.cause.originalCode', 'cause.originalCode', 'originalCode', 'meta.code', 'code']

export function shapeOf(error: unknown): Shape {
  const { name, message, code, meta } = error as Error & { code?: unknown; meta?: object }
  const at = PLACES.find((place) => /^(?!P\d)[0-9A-Z]{5}$/.test(String(partAt(error, place))))
  const kind = partAt(error, 'meta.driverAdapterError.cause.kind') ?? partAt(error, 'cause.kind')
  const shape: Shape = { name }
  if (typeof code === 'string') shape.code = code
  if (typeof kind === 'string') shape.kind = kind
  if (at === undefined && kind === undefined && code !== undefined) shape.meta = Object.keys(meta ?? {}).sort()
  if (at !== undefined) Object.assign(shape, { at, sqlState: partAt(error, at) })
  if (at === undefined && kind === undefined && code === undefined) shape.message = message
  return shape
}

function partAt(error: unknown, place: string): unknown {
  return place
    .split('.')
    .reduce<unknown>((from, name) => (from as Record<string, unknown> | null | undefined)?.[name], error)
}
