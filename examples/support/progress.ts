import process from 'node:process'
import { progress } from '@clack/prompts'

export interface Progress {
  /** Says what comes now. */
  say(what: string): void
  /** One step more is done. */
  advance(): void
  end(): void
}

/** Shows on standard error how far an example is: as a bar on a terminal, else in a line for each part. */
export function startProgress(steps: number): Progress {
  // Some terminals, those of `expect` for one, say that they are 0 columns wide; a bar fills them with line breaks.
  if (!process.stderr.isTTY || process.stderr.columns === 0) {
    return { say: (what) => console.error(what), advance: () => undefined, end: () => undefined }
  }
  const bar = progress({ max: steps, output: process.stderr, indicator: 'timer', cancelMessage: 'Stopped' })
  bar.start('Starting')
  // The bar reads keys in raw mode, where Ctrl-C is a key on which it ends the process at once, with exit code 0. Back
  // in the ordinary mode Ctrl-C is a signal again.
  if (process.stdin.isTTY) process.stdin.setRawMode(false)
  return { say: (what) => bar.message(what), advance: () => bar.advance(), end: () => bar.clear() }
}
