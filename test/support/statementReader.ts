/** Cuts a client's bytes into messages and gives the text of the statements among them. */
export function statementReader(): (chunk: Buffer) => string[] {
  let rest = Buffer.alloc(0)
  let started = false
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    const statements: string[] = []
    for (;;) {
      // The first message has no type before its length; the request for TLS, which also has none, we do not send.
      const lengthAt = started ? 1 : 0
      if (rest.length < lengthAt + 4) return statements
      const length = rest.readInt32BE(lengthAt) + lengthAt
      if (rest.length < length) return statements
      const message = rest.subarray(0, length)
      rest = rest.subarray(length)
      if (started) statements.push(...statementsIn(message))
      started = true
    }
  }
}

function statementsIn(message: Buffer): string[] {
  const type = message.toString('latin1', 0, 1)
  if (type === 'Q') return [message.toString('utf8', 5, message.indexOf(0, 5))]
  if (type !== 'P') return []
  const nameEnds = message.indexOf(0, 5)
  return [message.toString('utf8', nameEnds + 1, message.indexOf(0, nameEnds + 1))]
}
