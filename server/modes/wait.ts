/** A patience that runs out: started once, spent in several places. */
export interface Wait {
  /** Milliseconds that are left; 0 when it is over. */
  leftMs(): number
  /** Waits for a promise, but no longer than there is patience. */
  until<T>(promise: Promise<T>): Promise<{ inTime: true; value: T } | { inTime: false }>
  /** Lets time pass, but no more than there is patience. */
  pause(ms: number): Promise<void>
}

/** @param ms how long it lasts; measured by a clock that nobody can set */
export function startWait(ms: number): Wait {
  const end = performance.now() + ms
  const leftMs = () => Math.max(0, end - performance.now())
  return {
    leftMs,
    until(promise) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve({ inTime: false }), leftMs())
        promise.then((value) => resolve({ inTime: true, value }), reject).finally(() => clearTimeout(timer))
      })
    },
    pause: (pauseMs) => new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, leftMs()))),
  }
}
