import { setMaxListeners } from 'node:events'
import os from 'node:os'
import process from 'node:process'

export interface Run {
  /** Aborted by Ctrl-C and by SIGTERM. Whoever waits for long listens to it. */
  signal: AbortSignal
  /** Says how to stop something that was started. */
  onEnd(stop: () => unknown): void
}

/**
 * Runs an example and ends the process. Whatever ends it (the end of `body`, an error, Ctrl-C, SIGTERM), everything that
 * was started is stopped first, the last one first.
 *
 * @param body gives the exit code
 */
export async function runExample(body: (run: Run) => Promise<number>): Promise<never> {
  const interruption = new AbortController()
  // As many listeners as there are requests at once; Node.js takes more than ten for a leak.
  setMaxListeners(0, interruption.signal)
  const stops: (() => unknown)[] = []
  let exitCode: number | undefined
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    // Not once: npm and tsx pass on a signal that the terminal has sent to all of us, so it comes several times. Only
    // the first one means something.
    process.on(name, () => {
      exitCode ??= 128 + os.constants.signals[name]
      interruption.abort(new Error(`Stopped by ${name}.`))
    })
  }
  try {
    const own = await body({ signal: interruption.signal, onEnd: (stop) => stops.unshift(stop) })
    exitCode ??= own
  } catch (error) {
    // After an interruption everything that was under way fails, each in its own way.
    if (exitCode === undefined) console.error(error)
    exitCode ??= 1
  }
  for (const stop of stops) await stop()
  process.exit(exitCode)
}
