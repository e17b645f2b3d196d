/** What a browser downloads for our client door. The peers are left out: an application of tRPC has them already. */
export default [
  {
    name: 'trpc-idempotency/client, with its dependencies',
    path: 'dist/client/index.js',
    limit: '3 kB',
    // The peers stay imports, as in the bundle of an application. In any other format esbuild adds a `require` of its own.
    modifyEsbuildConfig: (config) => ({ ...config, format: 'esm' }),
  },
]
