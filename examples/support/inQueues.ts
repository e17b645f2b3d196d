/** Calls `serve` for each item, so many at the same time, each queue one after the other. */
export async function inQueues<Item>(
  queues: number,
  items: readonly Item[],
  serve: (item: Item) => Promise<void>,
): Promise<void> {
  // One iterator for all queues: each item is served in one of them.
  const rest = items.values()
  const queue = async () => {
    for (const item of rest) await serve(item)
  }
  await Promise.all(Array.from({ length: queues }, queue))
}
