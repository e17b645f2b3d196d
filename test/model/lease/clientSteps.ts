import { at } from '../at.js'
import { saysExecuted } from './answers.js'
import type { Scene } from './scene.js'
import { type Attempt, type Client, FRESH, NONE, type State } from './state.js'

/** What clients conclude from answers and from none, and when they send again. */
export function clientSteps(scene: Scene): void {
  scene.state.clients.forEach((client, index) => {
    if (client.outcome === 'none') hear(scene, index, client)
  })
}

function hear(scene: Scene, index: number, { attempts }: Client): void {
  const sent = at(at(scene.settings.sendersOfClients, index), attempts - 1)
  const sender = scene.senderOf(sent)
  const attempt = at(scene.state.attempts, sent)
  if (attempt.place === 'ended') {
    scene.step(`the client of ${sender} hears ${attempt.answer}`, (next) => conclude(scene, next, { index, attempt }))
  }
  scene.step(`the client of ${sender} hears nothing`, (next) => conclude(scene, next, { index, attempt: FRESH }))
}

function conclude(scene: Scene, next: State, { index, attempt }: { index: number; attempt: Attempt }): void {
  const client = at(next.clients, index)
  switch (attempt.answer) {
    case 'RESULT':
      if (attempt.names !== undefined && saysExecuted(attempt.names)) client.outcome = 'EXECUTED'
      else giveUp(client, attempt.names?.charge !== NONE)
      return
    // Final: a further attempt would be told the same.
    case 'KEY_TOO_OLD':
    case 'HANDLER_ERROR':
      giveUp(client, false)
      return
    case 'ABANDONED':
      client.told = true
      giveUp(client, scene.holds('ABANDONED leaves the outcome of the operation unknown'))
      return
    case 'IN_FLIGHT':
      client.told = true
      client.unknown = true
      break
    case 'STORE_UNAVAILABLE':
      break
    case 'LEASE_LOST':
      client.unknown ||= scene.holds('LEASE_LOST leaves the outcome unknown')
      break
    case 'UNKNOWN':
    case 'none':
      client.unknown = true
      break
  }
  const sent = at(scene.settings.sendersOfClients, index)[client.attempts]
  if (sent === undefined) {
    giveUp(client, false)
    return
  }
  client.attempts += 1
  next.attempts[sent] = { ...FRESH }
}

function giveUp(client: Client, inDoubt: boolean): void {
  client.outcome = client.unknown || inDoubt ? 'UNKNOWN' : 'NOT_EXECUTED'
}
