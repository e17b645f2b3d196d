import { at } from '../at.js'
import type { Scene } from './scene.js'
import { type Answer, type Client, FRESH, NONE, type State } from './state.js'

/** What clients conclude from answers and from none, when they send again, and what they ask `status()`. */
export function clientSteps(scene: Scene): void {
  scene.state.clients.forEach((client, index) => {
    if (client.outcome === 'none') hear(scene, index, client)
    else if (client.outcome === 'UNKNOWN' && scene.settings.status) askStatus(scene, index)
  })
}

function hear(scene: Scene, index: number, { attempts }: Client): void {
  const delivery = at(at(scene.settings.sendersOfClients, index), attempts - 1)
  const sender = scene.senderOf(delivery)
  const { place, answer } = at(scene.state.deliveries, delivery)
  if (place === 'ended') {
    scene.step(`the client of ${sender} hears ${answer}`, (next) => conclude(scene, next, { index, answer }))
  }
  scene.step(`the client of ${sender} hears nothing`, (next) => conclude(scene, next, { index, answer: 'none' }))
}

function conclude(scene: Scene, next: State, { index, answer }: { index: number; answer: Answer }): void {
  const client = at(next.clients, index)
  switch (answer) {
    case 'ANSWERED':
      client.outcome = 'EXECUTED'
      return
    // Final: a further attempt would be told the same.
    case 'KEY_TOO_OLD':
    case 'HANDLER_ERROR':
      client.outcome = client.unknown ? 'UNKNOWN' : 'NOT_EXECUTED'
      return
    case 'IN_FLIGHT':
      client.told = true
      client.unknown ||= scene.holds('IN_FLIGHT leaves the outcome of the operation unknown')
      break
    case 'STORE_UNAVAILABLE':
      break
    case 'UNKNOWN':
    case 'none':
      client.unknown = true
      break
  }
  const delivery = at(scene.settings.sendersOfClients, index)[client.attempts]
  if (delivery === undefined) {
    client.outcome = client.unknown ? 'UNKNOWN' : 'NOT_EXECUTED'
    return
  }
  client.unknown &&= scene.holds('an earlier attempt counts for the outcome')
  client.attempts += 1
  next.deliveries[delivery] = { ...FRESH }
}

/** A transaction that runs has no row to be seen: `absent` proves nothing. */
function askStatus(scene: Scene, index: number): void {
  if (scene.state.row !== NONE) {
    scene.step('a client asks for the status: settled', (next) => {
      at(next.clients, index).outcome = 'EXECUTED'
    })
  } else if (!scene.holds('an absent status leaves the outcome unknown')) {
    scene.step('a client asks for the status: absent, which it takes for NOT_EXECUTED', (next) => {
      at(next.clients, index).outcome = 'NOT_EXECUTED'
    })
  }
}
