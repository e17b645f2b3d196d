/** What came back over HTTP, byte for byte and read. */
export interface Answer {
  status: number
  text: string
  /** Of a success. */
  data: unknown
  /** Of a failure: the error's shape. */
  error: { message: string; code: number; data: Record<string, unknown> } | undefined
}

export interface RawCall {
  path: string
  input?: unknown
  /** Left out, the call carries no envelope at all. */
  key?: unknown
  attempt?: number
  user?: string
}

/** Calls a mutation without any of the library's own client code: the envelope is written out by hand. */
export async function rawCall(
  url: string,
  { path, input, key, attempt = 1, user = 'alice' }: RawCall,
): Promise<Answer> {
  const body = key === undefined ? input : { '~idempotency': { key, attempt }, '~input': input }
  return post(`${url}/${path}`, body, user)
}

/** Posts any body to any address of a tRPC server. */
export async function post(address: string, body: unknown, user = 'alice'): Promise<Answer> {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': user },
    body: JSON.stringify(body) ?? '',
  })
  return read(response)
}

/** Reads a response, byte for byte and as JSON. */
export async function read(response: Response): Promise<Answer> {
  const text = await response.text()
  const { result, error } = JSON.parse(text) as { result?: { data: unknown }; error?: Answer['error'] }
  return { status: response.status, text, data: result?.data, error }
}

/** What the library said of a failed call. */
export function said(answer: Answer): unknown {
  return answer.error?.data['idempotency']
}
