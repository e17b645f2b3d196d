import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'

const repository = path.resolve(import.meta.dirname, '../..')

/** What the project has installed beside the package. Its tRPC and its TypeScript are of the versions that it wants. */
const INSTALLED = [
  '@prisma/adapter-pg',
  '@prisma/client',
  '@types/node',
  '@types/react',
  'canonicalize',
  'idb-keyval',
  'react',
  'tsx',
  'uuid',
  'zod',
]
const INSTALLED_AS_WANTED = ['@tanstack/react-query', '@trpc/client', '@trpc/server', 'typescript']

export interface Run {
  exitCode: number
  /** Standard output and standard error, as they came. */
  output: string
}

/** A project of somebody who installed the package, with `test/house/consumer` as its sources. */
export interface ConsumerProject {
  folder: string
  /** The files that the package brought, in order. */
  packaged: string[]
  /** Runs Node.js in the project. */
  node(...args: string[]): Promise<Run>
  /** Type-checks the sources with `skipLibCheck: false`, so that the package's declarations are checked too. */
  compile(moduleResolution: 'nodenext' | 'bundler'): Promise<Run>
  remove(): Promise<void>
}

/**
 * Packs the library from its sources alone, as a fresh clone would, and installs the tarball. What else the project
 * needs is linked and not downloaded.
 *
 * @param peers the folder whose `node_modules` has tRPC and TypeScript in the wanted versions
 */
export async function createConsumerProject(peers = repository): Promise<ConsumerProject> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'trpc-idempotency-consumer-'))
  const node = (...args: string[]) => run(process.execPath, args, folder)
  const library = path.join(folder, 'node_modules/trpc-idempotency')
  await unpack(await pack(path.join(folder, 'clone')), library)
  for (const name of INSTALLED) await link(repository, folder, name)
  for (const name of INSTALLED_AS_WANTED) await link(peers, folder, name)
  await cp(path.join(repository, 'test/house/consumer'), path.join(folder, 'test/house/consumer'), { recursive: true })
  await symlink(path.join(repository, 'generated'), path.join(folder, 'generated'))
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }')
  return {
    folder,
    packaged: await filesIn(library),
    node,
    async compile(moduleResolution) {
      const config = path.join(folder, `tsconfig.${moduleResolution}.json`)
      await writeFile(config, tsconfig(moduleResolution))
      return node('node_modules/typescript/bin/tsc', '-p', config)
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** @returns the tarball */
async function pack(clone: string): Promise<string> {
  const generated = new Set(['.git', 'dist', 'generated', 'node_modules'])
  const isSource = (file: string) => !generated.has(path.basename(file))
  for (const name of (await readdir(repository)).filter(isSource)) {
    await cp(path.join(repository, name), path.join(clone, name), { recursive: true, filter: isSource })
  }
  await symlink(path.join(repository, 'node_modules'), path.join(clone, 'node_modules'))
  const { exitCode, output } = await run('npm', ['pack', '--silent'], clone)
  const tarball = (await readdir(clone)).find((name) => name.endsWith('.tgz'))
  if (exitCode !== 0 || tarball === undefined) throw new Error(`npm pack failed:\n${output}`)
  return path.join(clone, tarball)
}

async function unpack(tarball: string, library: string): Promise<void> {
  await mkdir(path.dirname(library), { recursive: true })
  const { exitCode, output } = await run('tar', ['-xzf', tarball], path.dirname(library))
  if (exitCode !== 0) throw new Error(`tar failed:\n${output}`)
  await rename(path.join(path.dirname(library), 'package'), library)
}

async function link(from: string, folder: string, name: string): Promise<void> {
  const target = path.join(folder, 'node_modules', name)
  await mkdir(path.dirname(target), { recursive: true })
  // npm keeps one copy, ours, of what both want in the same version.
  const installed = [from, repository].map((place) => path.join(place, 'node_modules', name)).find(existsSync)
  if (installed === undefined) throw new Error(`${name} is not installed`)
  await symlink(installed, target)
}

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  const files: string[] = []
  for (const name of names) {
    if ((await stat(path.join(folder, name))).isFile()) files.push(name.replaceAll(path.sep, '/'))
  }
  return files.sort()
}

function tsconfig(moduleResolution: 'nodenext' | 'bundler'): string {
  return JSON.stringify({
    compilerOptions: {
      target: 'es2023',
      lib: ['es2023', 'dom', 'dom.iterable'],
      module: moduleResolution === 'bundler' ? 'esnext' : 'nodenext',
      moduleResolution,
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
    },
    include: ['test/house/consumer'],
  })
}

function run(program: string, args: string[], cwd: string): Promise<Run> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ exitCode, output: stdout + stderr })
    })
  })
}
