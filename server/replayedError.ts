/** A final error that was stored: whoever sends the key again is given the shape that went over the wire the first time. */
export class ReplayedError extends Error {
  override readonly name = 'ReplayedError'
  readonly shape: ErrorShape

  constructor(shape: ErrorShape) {
    super(shape.message)
    this.shape = shape
  }
}

/** As much of a tRPC error's shape as is read here. */
export interface ErrorShape {
  message: string
  code: number
  data: object
}

/** Whether something that was stored is such a shape, and one that can be sent. */
export function isErrorShape(value: unknown): value is ErrorShape {
  if (typeof value !== 'object' || value === null) return false
  const { message, code, data } = value as Partial<Record<keyof ErrorShape, unknown>>
  return typeof message === 'string' && typeof code === 'number' && isErrorData(data)
}

function isErrorData(data: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false
  const { httpStatus } = data as { httpStatus?: unknown }
  // tRPC answers with this status, and no response can have another one.
  return (
    httpStatus === undefined || (Number.isInteger(httpStatus) && Number(httpStatus) >= 200 && Number(httpStatus) <= 599)
  )
}

/** Whether something is such an error, also one of another copy of this package. */
export function isReplayedError(value: unknown): value is ReplayedError {
  return value instanceof Error && value.name === 'ReplayedError' && 'shape' in value
}
