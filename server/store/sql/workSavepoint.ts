/** Marks the place after the claim, to which a final error goes back: the work is undone, and the claim stays. */
export const markWork = 'savepoint idempotency_work'

/** Goes back to it. It also ends the state in which Postgres refuses everything after a statement that failed. */
export const undoWork = 'rollback to savepoint idempotency_work'
