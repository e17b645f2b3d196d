import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

/** The first of these programs that is on the PATH. */
export function findProgram(names: readonly string[]): string {
  for (const name of names) {
    for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
      const file = path.join(folder, name)
      try {
        accessSync(file, constants.X_OK)
        return file
      } catch {
        // not in this folder
      }
    }
  }
  throw new Error(`none of these programs is on the PATH: ${names.join(', ')}`)
}
