/** One rule of the house: what a part of the library may import, or never. */
export interface ImportRule {
  /** Files and folders that the rule binds. */
  from: readonly string[]
  /** Nothing but these. */
  may?: readonly string[]
  /** None of these. */
  never?: readonly string[]
  reason: string
}

/**
 * Names are files, folders or packages; a folder or a package stands for all that is in it, and a name that ends in a
 * colon for all names that begin with it. A name after `!` is taken out again.
 */
export const IMPORT_RULES: readonly ImportRule[] = [
  {
    from: ['wire'],
    may: ['wire'],
    reason: 'Browser and server both load it, so whatever it imported would be loaded by both.',
  },
  {
    from: ['client'],
    never: ['server', 'node:'],
    reason: 'Client and server share only wire/: a module of the server does not run in a browser.',
  },
  {
    from: ['client', '!client/journal', '!client/reactQuery'],
    may: ['client', '!client/journal', '!client/reactQuery', 'wire', '@trpc/client', '@trpc/server'],
    reason: 'A browser loads every package that is named here; the size budget has no room for a further one.',
  },
  {
    from: ['client/journal'],
    may: ['client', 'wire', '@trpc/client', '@trpc/server', 'idb-keyval'],
    reason: 'The journal is a door of its own: whoever opens it is made to load this package, and nobody else.',
  },
  {
    from: ['client/reactQuery'],
    may: ['client', 'wire', 'react', '@tanstack/react-query'],
    reason: 'Whoever opens this door has React and TanStack Query, and is made to load nothing else.',
  },
  {
    from: ['server'],
    never: ['client'],
    reason: 'Client and server share only wire/: the two ends are deployed at different times.',
  },
  {
    from: ['server/engine'],
    may: ['server/engine', 'wire', 'node:crypto', 'canonicalize', 'uuid'],
    reason: 'The engine is pure: without a clock, I/O, tRPC and Prisma its decisions can be tested and model-checked.',
  },
  {
    from: ['server', '!server/plugin'],
    never: ['@trpc'],
    reason: 'One room speaks tRPC, so that a change of its middleware is a change of one room.',
  },
  {
    from: ['server', '!server/store/prisma.ts'],
    never: ['@prisma', 'generated'],
    reason: 'One file speaks Prisma, so that the next major version is a change of one file.',
  },
  {
    from: ['server', '!server/plugin', '!server/index.ts', '!server/store/guardClient.ts'],
    never: ['server/store/prisma.ts', 'server/store/guardClient.ts'],
    reason:
      'SQL goes through the contract of sqlDatabase.ts; only the plugin puts Prisma behind it. And guardClient.ts, which no SQL goes through, is an extension of an application’s own client.',
  },
  {
    from: ['server/modes'],
    never: ['server/store', '!server/store/keyStore.ts', '!server/store/leaseStore.ts'],
    reason: 'A mode decides when, the store knows how: it sees the contracts and no statement.',
  },
  {
    from: ['server/store'],
    never: ['server/modes', 'server/plugin', 'server/index.ts'],
    reason: 'Imports point inward: the store serves the modes and does not know them.',
  },
  {
    from: ['server/modes'],
    never: ['server/plugin', 'server/index.ts'],
    reason: 'Imports point inward: the plugin calls the modes, and they never call back.',
  },
  {
    from: ['server/store/sql'],
    may: ['server/store/sql'],
    reason: 'A statement is text and the type of its rows, and nothing that could run.',
  },
  {
    from: ['wire', 'client', 'server'],
    never: ['test', 'examples', 'bench', 'prisma', 'generated', 'docs', 'dist'],
    reason: 'These folders are not in the package: the import would fail for whoever installs it.',
  },
]

/** A file and what it imports: paths from the root of the repository, or names of packages. */
export interface ImportingFile {
  file: string
  imports: readonly string[]
}

/** One sentence for each import that a rule forbids, with the rule and its reason. */
export function forbiddenImports({ file, imports }: ImportingFile, rules = IMPORT_RULES): string[] {
  return rules
    .filter(({ from }) => includes(from, file))
    .flatMap((rule) =>
      imports
        .filter((target) => !allows(rule, target))
        .map((target) => `${file} imports ${target}, but ${spell(rule)}. ${rule.reason}`),
    )
}

function allows({ may, never }: ImportRule, target: string): boolean {
  return (may === undefined || includes(may, target)) && (never === undefined || !includes(never, target))
}

function includes(names: readonly string[], target: string): boolean {
  const taken = (name: string) => name.startsWith('!') && covers(name.slice(1), target)
  return names.some((name) => covers(name, target)) && !names.some(taken)
}

function covers(name: string, target: string): boolean {
  return target === name || target.startsWith(`${name}/`) || (name.endsWith(':') && target.startsWith(name))
}

function spell({ from, may, never }: ImportRule): string {
  const words = [
    ...(may === undefined ? [] : [`may import only ${may.join(', ')}`]),
    ...(never === undefined ? [] : [`never imports ${never.join(', ')}`]),
  ]
  return `${from.join(', ')} ${words.join(' and ')}`
}
