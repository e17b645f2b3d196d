import type { Bench, Section } from './section.js'

/** All sections, in the order of the results. Each is loaded when its turn comes. */
export const SECTIONS: Record<string, () => Promise<(bench: Bench) => Promise<Section>>> = {
  peers: async () => (await import('./peers/comparison.js')).comparison,
  statements: async () => (await import('./statements/statements.js')).statements,
  profile: async () => (await import('./profile/profile.js')).profile,
  micro: async () => (await import('./micro/micro.js')).micro,
  storm: async () => (await import('./storm/retryStorm.js')).retryStorm,
  scale: async () => (await import('./scale/tableScale.js')).tableScale,
  expiry: async () => (await import('./scale/expiry.js')).expiry,
  client: async () => (await import('./client/linkCost.js')).linkCost,
  seal: async () => (await import('./seal/seal.js')).seal,
}
