import { at } from '../at.js'
import type { Scene } from './scene.js'
import { type Attempt, type Misdeed, NONE, type Row, type State, type Statement } from './state.js'

/** Whether a statement has to wait for a lock that another transaction holds. */
export function isBlocked({ state, holds }: Scene, kind: Statement['kind']): boolean {
  const taken = isTaken(state)
  switch (kind) {
    case 'call':
      return false
    case 'record':
      return taken
    case 'insert':
      return taken || (state.watermark === 'rising' && holds('the claim locks the watermark'))
    case 'take over':
    case 'renew':
    case 'settle':
    case 'release':
    case 'abandon':
      return taken || state.transactions.some(({ locks }) => locks)
  }
}

/** Whether transaction mode has the row: its insert is not committed, or its update of a released row. */
export function isTaken({ attempts }: State): boolean {
  return attempts.some(({ place }) => place === 'runs in a transaction')
}

/**
 * Carries a statement out.
 *
 * @returns whether it gave a row
 */
export function execute(scene: Scene, next: State, statement: Statement): boolean {
  switch (statement.kind) {
    case 'insert':
      return insert(scene, next, statement)
    case 'take over':
      return takeOver(scene, next, statement)
    case 'call':
      call(scene, next, statement.attempt)
      return true
    case 'record':
    case 'renew':
    case 'settle':
    case 'release':
    case 'abandon':
      return write(scene, next, statement)
  }
}

/** Keeps in mind that something happened that must not. */
export function note(next: State, misdeed: Misdeed): void {
  if (!next.misdeeds.includes(misdeed)) next.misdeeds.push(misdeed)
}

/** Gives the right to run, with the fence that is in the row. */
export function grant(next: State, row: Row): void {
  next.grants += 1
  row.grant = next.grants
  if (row.fence <= next.highestFence) note(next, 'no fence repeats')
  next.highestFence = Math.max(next.highestFence, row.fence)
  if (next.swept) note(next, 'a swept key never runs again')
  if (next.attempts.some(({ names }) => names !== undefined)) note(next, 'an answered operation never runs again')
}

/** Whether a row is in flight under the fence that an attempt, or a statement of it, names. */
export function isHeldBy(row: Row | undefined, { fence }: { fence: number }): row is Row {
  return row?.status === 'in flight' && row.fence === fence
}

/** Attempts go by what they can see. This is what they cannot: who was granted the right to run last. */
function isHolder(row: Row | undefined, by: { grant: number }): boolean {
  return row?.status === 'in flight' && row.grant === by.grant
}

/** A write of somebody whose right to run is over. */
export function noteLostHolder(next: State, by: { grant: number }): void {
  if (next.row !== undefined && next.row.grant !== by.grant) note(next, 'a lost holder writes nothing')
}

function insert(scene: Scene, next: State, { attempt }: Statement): boolean {
  const above = next.watermark === 'above' && scene.holds('the claim locks the watermark')
  if (next.row !== undefined || above) return false
  next.row = newRow(scene, attempt)
  grant(next, next.row)
  return true
}

function newRow({ settings, senderOf }: Scene, attempt: number): Row {
  return {
    status: 'in flight',
    fence: 1,
    leaseOver: false,
    manual: settings.manual.includes(senderOf(attempt)),
    charge: NONE,
    chargeFence: NONE,
    business: NONE,
    businessFence: NONE,
    result: undefined,
    grant: NONE,
  }
}

function takeOver(scene: Scene, next: State, statement: Statement): boolean {
  const { row } = next
  if (row === undefined) return !scene.holds('a takeover never inserts') && insertAnew(scene, next, statement)
  if (!mayTakeOver(scene, row, statement.attempt)) return false
  if (row.status === 'in flight') {
    if (!row.leaseOver) note(next, 'a live lease is never taken over')
    else if (row.manual) note(next, 'an abandoned row under manual is left to the operator')
  }
  if (scene.holds('a takeover raises the fence')) row.fence += 1
  Object.assign(row, { status: 'in flight', leaseOver: false })
  grant(next, row)
  return true
}

/** What an upsert would do. */
function insertAnew(scene: Scene, next: State, { attempt }: Statement): boolean {
  next.row = newRow(scene, attempt)
  grant(next, next.row)
  return true
}

function mayTakeOver(scene: Scene, row: Row, attempt: number): boolean {
  switch (row.status) {
    case 'settled':
      return false
    case 'released':
      return true
    case 'in flight':
      return isOverFor(scene, row) && !isManualFor(scene, row, attempt)
  }
}

function isOverFor({ holds }: Scene, { leaseOver }: Row): boolean {
  return leaseOver || !holds('a takeover looks at the lease') || !holds("a lease is judged by the database's clock")
}

/** Whether a takeover has to leave an abandoned row alone. */
export function isManualFor({ settings, senderOf, holds }: Scene, row: Row, attempt: number): boolean {
  if (holds('the policy of the row governs its takeover')) return row.manual
  return settings.manual.includes(senderOf(attempt))
}

/** The provider executes once for each derived key, and answers it again. */
function call({ settings, holds }: Scene, next: State, attempt: number): void {
  if (next.refused) return
  if (settings.forgetfulProvider || chargeOf({ holds }, next, attempt) === NONE) next.charges.push(attempt)
}

/** The charge that was made with the derived key of an attempt. */
export function chargeOf({ holds }: Pick<Scene, 'holds'>, { charges }: State, attempt: number): number {
  if (holds('the derived key is the same in every attempt')) return charges.length - 1
  return charges.indexOf(attempt)
}

/** A call while the charge is recorded. Of somebody who lost the lease it is to be expected. */
export function noteCall(next: State, own: Attempt): void {
  if (isHolder(next.row, own) && next.row?.charge !== NONE)
    note(next, 'a recorded point is not run again by its holder')
}

function write(scene: Scene, next: State, statement: Statement): boolean {
  const { row } = next
  if (row === undefined || !proves(scene, row, statement)) return false
  // The name of a recovery point is part of a primary key.
  if (statement.kind === 'record' && row.charge !== NONE) return false
  noteLostHolder(next, statement)
  if (row.status === 'settled') note(next, 'a settled result is never overwritten')
  switch (statement.kind) {
    case 'record':
      Object.assign(row, { charge: statement.charge, chargeFence: statement.fence })
      break
    case 'renew':
      row.leaseOver = false
      break
    case 'settle':
      Object.assign(row, { status: 'settled', leaseOver: false, result: statement.result })
      break
    case 'release':
      if (row.manual && statement.result === undefined) {
        note(next, 'an unproven failure under manual is left to the operator')
      }
      Object.assign(row, { status: 'released', leaseOver: false })
      if (!scene.holds('a release keeps the recovery points')) Object.assign(row, { charge: NONE, business: NONE })
      if (!scene.holds('a release keeps the row')) next.row = undefined
      break
    case 'abandon':
      row.leaseOver = true
      break
    case 'insert':
    case 'take over':
    case 'call':
      break
  }
  return true
}

function proves({ holds }: Scene, row: Row, { kind, fence }: Statement): boolean {
  if (kind === 'settle' && !holds('a settle proves that the row is in flight, and whose')) return true
  if (row.status !== 'in flight') return false
  if (row.fence === fence) return true
  return (
    (kind === 'settle' && !holds('a settle names the fence')) ||
    (kind === 'renew' && !holds('a renewal names the fence')) ||
    (kind === 'record' && !holds('a record locks the row of the key'))
  )
}

/** What an attempt sends, under the fence that it was given. */
export function statementOf(state: State, attempt: number, kind: Statement['kind']): Statement {
  const { fence, grant: given, charge, result } = at(state.attempts, attempt)
  return {
    kind,
    attempt,
    fence,
    grant: given,
    charge: kind === 'record' ? charge : NONE,
    result: kind === 'settle' || kind === 'release' ? result : undefined,
  }
}
