/** What a browser downloads for our client door. The peers are left out: an application of tRPC has them already. */
const door = {
  path: 'dist/client/index.js',
  // The peers stay imports, as in the bundle of an application. In any other format esbuild adds a `require` of its own.
  modifyEsbuildConfig: (config) => ({ ...config, format: 'esm' }),
}

const queryDoor = { ...door, path: 'dist/client/reactQuery/index.js' }

export default [
  { ...door, name: 'the link', import: '{ idempotencyLink, idempotencyErrorOf, isOutcomeUnknown }', limit: '3 kB' },
  {
    ...door,
    name: 'a journal in IndexedDB, beside the link',
    path: 'dist/client/journal/index.js',
    import: '{ indexedDBJournal, resumeIntents }',
    limit: '2 kB',
  },
  // What only some applications import, and a bundler leaves out of the others.
  { ...door, name: 'the link and its header carrier', limit: '3.6 kB' },
  // Without the link, which is another door; what both need is counted in both.
  { ...queryDoor, name: 'the binding to TanStack Query', import: '{ bindIdempotency, retryIntent }', limit: '2 kB' },
  { ...queryDoor, name: 'the binding and the intents of forms', limit: '3 kB' },
]
