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

/** Whether something is such an error, also one of another copy of this package. */
export function isReplayedError(value: unknown): value is ReplayedError {
  return value instanceof Error && value.name === 'ReplayedError' && 'shape' in value
}
