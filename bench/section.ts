/** One part of the results. */
export interface Section {
  title: string
  /** Markdown, without the title. */
  text: string
  /** What RESULTS.json holds for it; named by the part. */
  figures: Record<string, unknown>
}

/** What a section measures with. */
export interface Bench {
  /** A fresh, migrated database on the one Postgres (fsync on) and its connection string. */
  database(name: string): Promise<string>
  /** A fresh database without our migrations. */
  emptyDatabase(name: string): Promise<string>
  /** Short rounds, for trying out: nothing that is published. */
  quick: boolean
}
