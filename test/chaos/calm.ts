/** Whether things have stopped going wrong. */
export interface Calm {
  isCalm(): boolean
  /** From now on nothing goes wrong any more. */
  comes(): void
}

export function createCalm(): Calm {
  let calm = false
  return {
    isCalm: () => calm,
    comes() {
      calm = true
    },
  }
}
