/**
 * Runs every lane once a round, forwards and backwards by turns: none is always the one that runs after another.
 *
 * @param run measures one lane; the first round warms up, and what it says is dropped
 * @returns what was measured, by lane, a value a round
 */
export async function alternately<Lane extends string, Value>(
  lanes: readonly Lane[],
  rounds: number,
  run: (lane: Lane) => Promise<Value>,
): Promise<Record<Lane, Value[]>> {
  const measured = Object.fromEntries(lanes.map((lane) => [lane, []])) as unknown as Record<Lane, Value[]>
  for (let round = 0; round <= rounds; round += 1) {
    for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) {
      const value = await run(lane)
      if (round > 0) measured[lane].push(value)
    }
  }
  return measured
}
