/** Whether things go wrong. */
export interface FaultSwitch {
  areOn(): boolean
  off(): void
}

export function createFaultSwitch(): FaultSwitch {
  let on = true
  return {
    areOn: () => on,
    off() {
      on = false
    },
  }
}
