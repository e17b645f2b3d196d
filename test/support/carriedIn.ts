/** Key and attempt that a request carried in its input, read without the library. */
export function carriedIn({ body }: { body: string }): { key: string; attempt: number } {
  return (JSON.parse(body) as { '~idempotency': { key: string; attempt: number } })['~idempotency']
}
