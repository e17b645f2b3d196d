/** The names of our tables, quoted and ready to stand in a statement. */
export interface Tables {
  readonly keys: string
  readonly recoveryPoints: string
  readonly watermark: string
}

/** @param schema a schema's name that was validated; left out, the search path of the connection finds the tables */
export function tablesIn(schema: string | undefined): Tables {
  const prefix = schema === undefined ? '' : `"${schema}".`
  return {
    keys: `${prefix}"idempotency_keys"`,
    recoveryPoints: `${prefix}"idempotency_recovery_points"`,
    watermark: `${prefix}"idempotency_watermark"`,
  }
}
