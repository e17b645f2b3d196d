/** One character for each number. From 32 on, so that -1 is a character too. */
export function stateKey(numbers: readonly number[]): string {
  return String.fromCharCode(...numbers.map((number) => number + 32))
}

/** A number for each word, so that a word is one character of a key. */
export function numbered<Word extends string>(words: readonly Word[]): Record<Word, number> {
  return Object.fromEntries(words.map((word, index) => [word, index])) as Record<Word, number>
}
