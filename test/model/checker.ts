/** Something that can happen in a state, and the state after it. */
export interface Step<State> {
  label: string
  next: State
}

/** A protocol as a finite graph: where it starts, what can happen, and what must never be or must stay possible. */
export interface Model<State> {
  start: State
  /** All that can happen in a state. It must not change the state. */
  steps(state: State): readonly Step<State>[]
  /** The same text for two states if and only if they are the same state. */
  keyOf(state: State): string
  /** Names of the invariants that a state breaks. */
  broken(state: State): readonly string[]
  /** From every state that is not excused, a state that reached the goal stays reachable. */
  progress?: {
    name: string
    reached(state: State): boolean
    excused?(state: State): boolean
  }
}

export interface Violation {
  /** Name of an invariant, or of the model's progress. */
  invariant: string
  /** Labels of the steps from the start to the state that breaks it; no shorter way there exists. */
  trace: string[]
}

export interface Findings {
  states: number
  steps: number
  /** One for each invariant that is broken; empty if the model holds. */
  violations: Violation[]
}

export interface CheckOptions {
  /** Looks for this violation alone, past those of other invariants, and stops where it is found. */
  only?: string
  /** More states than this are an error: a model without an end would never be answered. Default 3 million. */
  maxStates?: number
}

/** About a gigabyte of keys, and a minute: a model that needs more has lost its bounds. */
const MOST_STATES = 3_000_000

/**
 * Visits every state of a model, the near ones first, and finds each invariant that is broken somewhere. Behind a state
 * that breaks one it does not look further.
 *
 * @throws Error where the model has more states than it may
 */
export function check<State>(model: Model<State>, options: CheckOptions = {}): Findings {
  const { only, maxStates = MOST_STATES } = options
  const { progress } = model
  const graph: Graph = { ids: new Map(), cameFrom: [], stepsFrom: [], stepsTo: [], fine: [] }
  const violations: Violation[] = []
  let frontier: { id: number; state: State }[] = []

  const visit = (state: State, from: number, found: typeof frontier): number => {
    const key = model.keyOf(state)
    const known = graph.ids.get(key)
    if (known !== undefined) return known
    const id = graph.ids.size
    graph.ids.set(key, id)
    graph.cameFrom.push(from)
    let broken = false
    for (const invariant of model.broken(state)) {
      if (only !== undefined && only !== invariant) continue
      broken = true
      if (violations.some((violation) => violation.invariant === invariant)) continue
      violations.push({ invariant, trace: traceTo(id, model, graph) })
    }
    // What lies behind a broken state is not known, so nobody is told that it is stuck there.
    graph.fine.push(broken || (progress !== undefined && (progress.reached(state) || !!progress.excused?.(state))))
    if (!broken) found.push({ id, state })
    return id
  }

  visit(model.start, NONE, frontier)
  while (frontier.length > 0) {
    const found: typeof frontier = []
    for (const { id, state } of frontier) {
      for (const { next } of model.steps(state)) {
        graph.stepsFrom.push(id)
        graph.stepsTo.push(visit(next, id, found))
      }
      if (only !== undefined && violations.length > 0) return findings(graph, violations)
      if (graph.ids.size > maxStates) throw new Error(`the model has more than ${maxStates} states`)
    }
    frontier = found
  }
  if (progress !== undefined && (only ?? progress.name) === progress.name) {
    const stuck = firstStuck(graph)
    if (stuck !== NONE) violations.push({ invariant: progress.name, trace: traceTo(stuck, model, graph) })
  }
  return findings(graph, violations)
}

const NONE = -1

interface Graph {
  /** Numbers of the states in the order in which they were found, by their key. */
  ids: Map<string, number>
  /** For each state the one from which it was found first. */
  cameFrom: number[]
  /** For each step the states at its two ends. */
  stepsFrom: number[]
  stepsTo: number[]
  /** For each state whether it needs no way to a goal, or is one. */
  fine: boolean[]
}

function findings({ ids, stepsFrom }: Graph, violations: Violation[]): Findings {
  return { states: ids.size, steps: stepsFrom.length, violations }
}

/** Only the way is remembered, not the states on it: they are computed once more, for one trace. */
function traceTo<State>(id: number, model: Model<State>, { ids, cameFrom }: Graph): string[] {
  const way: number[] = []
  for (let at = id; at > 0; at = cameFrom[at] ?? NONE) way.push(at)
  const trace: string[] = []
  let state = model.start
  for (const stop of way.reverse()) {
    const step = model.steps(state).find(({ next }) => ids.get(model.keyOf(next)) === stop)
    if (step === undefined) throw new Error('steps() of the model does not give the same steps every time')
    trace.push(step.label)
    state = step.next
  }
  return trace
}

/** Walks all steps backwards from the states that are fine. What is not met cannot get there. */
function firstStuck({ stepsFrom, stepsTo, fine }: Graph): number {
  // Chains of the steps that lead to a state: `last` by state, `before` by step.
  const last = new Int32Array(fine.length).fill(NONE)
  const before = new Int32Array(stepsTo.length)
  stepsTo.forEach((to, step) => {
    before[step] = last[to] ?? NONE
    last[to] = step
  })
  const canReach = Uint8Array.from(fine, Number)
  const open = [...fine.keys()].filter((id) => fine[id])
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (let step = last[id] ?? NONE; step !== NONE; step = before[step] ?? NONE) {
      const from = stepsFrom[step] ?? NONE
      if (canReach[from] === 1) continue
      canReach[from] = 1
      open.push(from)
    }
  }
  return canReach.indexOf(0)
}
