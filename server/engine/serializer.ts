/** What turns values into JSON values and back: a tRPC data transformer. superjson and devalue are such. */
export interface Serializer {
  // biome-ignore lint/suspicious/noExplicitAny: the type of tRPC's transformers, so that any of them fits.
  serialize(value: any): any
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  deserialize(value: any): any
}

/** The values that JSON itself carries, as tRPC sends them without a transformer. */
export const jsonSerializer: Serializer = {
  serialize: (value) => value,
  deserialize: (value) => value,
}

/**
 * Turns a value into text, exactly as the router would put it on the wire.
 *
 * @returns `null` for a value that has no JSON at all: `undefined`
 * @throws whatever the serializer or JSON throws: for a cycle, or a BigInt without a transformer
 */
export function toText(value: unknown, serializer: Serializer): string | null {
  return JSON.stringify(serializer.serialize(value)) ?? null
}

/** Turns text back into a value: a new one each time, that nobody shares. */
export function fromText(text: string | null, serializer: Serializer): unknown {
  return text === null ? undefined : serializer.deserialize(JSON.parse(text))
}
