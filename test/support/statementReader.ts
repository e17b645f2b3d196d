/** Cuts a client's bytes into messages and gives the text of the statements that are run by them. */
export function statementReader(): (chunk: Buffer) => string[] {
  /** The texts of prepared statements, which later messages only name. */
  const prepared = new Map<string, string>()
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
      if (started) statements.push(...statementsIn(message, prepared))
      started = true
    }
  }
}

function statementsIn(message: Buffer, prepared: Map<string, string>): string[] {
  const type = message.toString('latin1', 0, 1)
  if (type === 'Q') return [message.toString('utf8', 5, message.indexOf(0, 5))]
  if (type === 'P') {
    const name = textAt(message, 5)
    const statement = textAt(message, message.indexOf(0, 5) + 1)
    if (name === '') return [statement]
    prepared.set(name, statement)
  }
  // The portal comes before the name.
  const bound = type === 'B' ? prepared.get(textAt(message, message.indexOf(0, 5) + 1)) : undefined
  return bound === undefined ? [] : [bound]
}

function textAt(message: Buffer, start: number): string {
  return message.toString('utf8', start, message.indexOf(0, start))
}
