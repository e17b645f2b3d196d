/** The headers of a request, as any adapter has them: of the fetch API, or of Node.js. */
export type RequestHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** The value of one header. A list that arrived in several lines is put together again. */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  // Some gateways hand names over as they were written.
  const written = Object.keys(headers).find((other) => other.toLowerCase() === name)
  const value = written === undefined ? undefined : headers[written]
  return typeof value === 'string' ? value : value?.join(', ')
}
