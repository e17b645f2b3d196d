/** Connections of each server's pool. */
export const POOL = 10
/** Slow operations at a time. */
export const SLOW_KEYS = 4
/** How long the handler of one takes. */
export const SLOW_MS = 300
/** How many clients send each of them. */
export const CLIENTS = 50
/** A slot of slow operations starts a fresh key so often, storm or not: the same work in every round. */
export const SLOW_EVERY_MS = 350
/** Callers of normal mutations, each one call after the other. */
export const OTHERS = 8
