export interface IdentityRow {
  backend: number
  transaction: string | null
}

/** Where a statement runs: the connection, and the transaction if it has written. */
export const identity = `
    select pg_backend_pid() as backend, pg_current_xact_id_if_assigned()::text as transaction`
