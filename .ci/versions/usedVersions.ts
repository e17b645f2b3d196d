import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { outputOf } from './run.js'

const PACKAGES = { tRPC: '@trpc/server', Prisma: '@prisma/client', TypeScript: 'typescript' }

/** Which versions a row really had: of what is installed, and of the server that its tests say they ran on. */
export async function usedVersions(
  copy: string,
  { env, output }: { env: Record<string, string | undefined>; output: string },
): Promise<Record<string, string>> {
  const versions: Record<string, string> = {}
  for (const [name, folder] of Object.entries(PACKAGES)) {
    const manifest = path.join(copy, 'node_modules', folder, 'package.json')
    // It is not there where npm failed.
    const { version } = JSON.parse(await readFile(manifest, 'utf8').catch(() => '{}')) as { version?: string }
    versions[name] = version ?? 'none'
  }
  versions['Node.js'] = (await outputOf(['node', '--version'], { cwd: copy, env })).trim().slice(1)
  const [, postgres = 'none'] = /^Postgres for this run: ([\d.]+)/m.exec(output) ?? []
  versions['Postgres'] = postgres
  return versions
}
