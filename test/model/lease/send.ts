import type { Scene } from './scene.js'
import type { State, Statement } from './state.js'
import { execute, isBlocked, statementOf } from './statements.js'

/** What an attempt does with the answer to its statement. */
export interface Reaction {
  /** It gave a row. */
  landed(next: State): void
  /** It gave none. */
  missed(next: State): void
  /** The answer was lost. The statement may have taken effect, and may yet. */
  lost(next: State): void
}

/** An attempt sends a statement, and is told what came of it or is not. */
export function send(
  scene: Scene,
  { attempt, kind }: { attempt: number; kind: Statement['kind'] },
  { landed, missed, lost }: Reaction,
): void {
  const { settings, state, step } = scene
  const statement = statementOf(state, attempt, kind)
  const name = `${scene.senderOf(attempt)} ${TEXTS[kind]}`
  if (!isBlocked(scene, kind)) {
    step(name, (next) => {
      if (execute(scene, next, statement)) landed(next)
      else missed(next)
    })
  }
  if (state.losses < settings.losses) {
    step(`${name}, and the answer is lost`, (next) => {
      next.losses += 1
      next.afloat.push(statement)
      lost(next)
    })
  }
}

/** What was sent and not answered takes effect, or never does. */
export function landOrSink(scene: Scene): void {
  scene.state.afloat.forEach((statement, index) => {
    const name = `${scene.senderOf(statement.attempt)} ${TEXTS[statement.kind]}`
    const remove = (next: State): void => {
      next.afloat = next.afloat.filter((_, other) => other !== index)
    }
    if (!isBlocked(scene, statement.kind)) {
      scene.step(`${name}: it arrives after all`, (next) => {
        remove(next)
        execute(scene, next, statement)
      })
    }
    scene.step(`${name}: it never arrived`, remove)
  })
}

const TEXTS: Record<Statement['kind'], string> = {
  insert: 'inserts its claim',
  'take over': 'takes over',
  call: 'calls the provider',
  record: 'records the charge',
  renew: 'renews its lease',
  settle: 'settles',
  release: 'releases the key',
  abandon: 'ends its lease',
}
