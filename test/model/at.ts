/** An entry that is known to be there. */
export function at<Entry>(entries: readonly Entry[], index: number): Entry {
  const entry = entries[index]
  if (entry === undefined) throw new Error(`nothing at ${index}`)
  return entry
}
