import { PrismaPg } from '@prisma/adapter-pg'
import { type Given, POOL } from './shop.js'

/** Prisma's adapter with statements that Postgres keeps prepared, one name for each text. */
export function adapterWithNames({ databaseUrl }: Given): PrismaPg {
  const names = new Map<string, string>()
  return new PrismaPg(
    { connectionString: databaseUrl, max: POOL },
    {
      statementNameGenerator({ sql }) {
        const name = names.get(sql) ?? `s${names.size}`
        names.set(sql, name)
        return name
      },
    },
  )
}
