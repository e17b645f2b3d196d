/** Watches one transaction for time that passes without a query. */
export interface IdleWatch {
  /** No query runs from now on. */
  begin(): void
  /** A query runs, or the handler has ended. */
  end(): void
}

/**
 * Notices handlers that keep their transaction open while they wait for something else than the database: an outside
 * call, most likely, which holds a connection and locks for as long as it takes and which no rollback undoes. Tells of
 * each procedure once.
 *
 * @returns what makes a watch for one transaction; in production nothing does
 */
export function idleWatches(): ((procedure: string, idleWarningMs: number) => IdleWatch) | undefined {
  if (process.env['NODE_ENV'] === 'production') return undefined
  const told = new Set<string>()
  return (procedure, idleWarningMs) => {
    let timer: NodeJS.Timeout | undefined
    const warn = () => {
      if (told.has(procedure)) return
      told.add(procedure)
      console.warn(
        `${procedure}: its handler has kept a transaction open for ${idleWarningMs} ms without a query. Does it wait for an outside call? Make that call before the mutation or in lease mode: a transaction holds its connection and its locks meanwhile, and a rollback does not undo the call. (A warning of development; option idleWarningMs.)`,
      )
    }
    return {
      begin() {
        timer = setTimeout(warn, idleWarningMs).unref()
      },
      end: () => clearTimeout(timer),
    }
  }
}
