import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'

/**
 * A form as text, for its fingerprint: its entries in their order, a file by its name, type, size and SHA-256. The same
 * fields in another order are another form, as they are for a server that reads them one by one.
 */
export async function canonicalForm(form: FormData): Promise<string> {
  const entries: unknown[] = []
  for (const [name, value] of form) entries.push([name, typeof value === 'string' ? value : await canonicalFile(value)])
  return `form ${canonicalize(entries) ?? ''}` // no JSON begins like this
}

/** An array, where a text would be the value of a field. */
async function canonicalFile(file: File): Promise<unknown[]> {
  const hash = createHash('sha256')
  hash.update(new Uint8Array(await file.arrayBuffer()))
  return [file.name, file.type, file.size, hash.digest('hex')]
}
