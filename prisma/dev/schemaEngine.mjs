#!/usr/bin/env node
// Stands in for Prisma's native schema engine where it could not be downloaded. The Prisma CLI starts the program named
// by PRISMA_SCHEMA_ENGINE_BINARY and speaks JSON-RPC with it over its standard streams; this one answers with the
// WebAssembly build of the same engine over a connection of adapter-pg. A development file: it is never published.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils'
import * as glue from '@prisma/schema-engine-wasm/schema_engine_bg'
import pg from 'pg'

const { values: flags, positionals } = parseArgs({
  strict: false,
  allowPositionals: true,
  options: {
    datasource: { type: 'string' },
    datamodels: { type: 'string', multiple: true },
    'enabled-preview-features': { type: 'string' },
    'extension-types': { type: 'string' },
    version: { type: 'boolean' },
  },
})
const datasource = JSON.parse(flags.datasource ?? '{}')

if (flags.version) await printVersion()
else if (positionals[0] === 'cli') await runCommand(positionals[1])
else await serve()

async function printVersion() {
  const manifest = new URL('./package.json', import.meta.resolve('@prisma/schema-engine-wasm/schema_engine_bg'))
  const { version } = JSON.parse(await readFile(manifest, 'utf8'))
  console.log(`schema-engine-cli ${version.split('.').pop()} (wasm)`)
}

// ---- JSON-RPC

async function serve() {
  const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  let loaded
  let printed = 0
  for await (const line of createInterface({ input: process.stdin })) {
    if (!line.trim()) continue
    const { id, method, params } = JSON.parse(line)
    if (method === undefined) continue // the CLI's acknowledgement of a "print"
    try {
      if (method === 'createDatabase') {
        await runCommand('create-database')
        send({ id, result: { databaseName: '' } })
        continue
      }
      loaded ??= await loadEngine()
      // The WebAssembly build calls this one method by another name.
      const name = method === 'getDatabaseVersion' ? 'version' : method
      const result = (await loaded.engine[name](params)) ?? null
      if (method === 'diff') {
        // The native engine prints a diff by a message of its own; the WebAssembly one returns the text.
        const { stdout, ...rest } = result
        printed += 1
        if (stdout) send({ id: `print-${printed}`, method: 'print', params: { content: stdout.replace(/\n$/, '') } })
        send({ id, result: rest })
      } else send({ id, result })
    } catch (error) {
      send({ id, error: rpcError(error, loaded?.errors) })
    }
  }
  loaded?.engine.free()
  process.exit()
}

/** An error of the driver crosses WebAssembly as a number; the registry still holds the error itself. */
function rpcError(error, errors) {
  const registered = /\bid: (\d+)/.exec(error?.message ?? '')
  const cause = registered && errors?.consumeError(Number(registered[1]))?.error
  return {
    code: 4466,
    message: 'An error happened. Check the data field for details.',
    data: {
      is_panic: error instanceof WebAssembly.RuntimeError,
      message: String(cause?.message ?? error?.message ?? error),
      error_code: error?.code,
      meta: error?.meta,
    },
  }
}

async function loadEngine() {
  const module = import.meta.resolve('@prisma/schema-engine-wasm/schema_engine_bg').replace(/\.js$/, '.wasm')
  const { instance } = await WebAssembly.instantiate(await readFile(fileURLToPath(module)), {
    './schema_engine_bg.js': glue,
  })
  glue.__wbg_set_wasm(instance.exports)
  instance.exports.__wbindgen_start()
  const datamodels = await Promise.all(
    (flags.datamodels ?? []).map(async (file) => [file, await readFile(file, 'utf8')]),
  )
  const factory = bindMigrationAwareSqlAdapterFactory(adapterFactory())
  const engine = await glue.SchemaEngine.new(
    { datamodels: datamodels.length > 0 ? datamodels : undefined },
    (message) => process.env.DEBUG && console.error(message),
    factory,
  )
  return { engine, errors: factory.errorRegistry }
}

// ---- connections

function target(url) {
  const parsed = new URL(url ?? 'postgresql://datasource.url.missing')
  const schema = parsed.searchParams.get('schema') ?? undefined
  for (const own of ['schema', 'connection_limit', 'pool_timeout', 'pgbouncer']) parsed.searchParams.delete(own)
  return { config: { connectionString: parsed.href, max: 1 }, schema }
}

function adapterFactory() {
  const { config, schema } = target(datasource.url)
  return {
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect: () => connect(config, schema),
    async connectToShadowDb() {
      if (datasource.shadowDatabaseUrl) {
        const shadow = target(datasource.shadowDatabaseUrl)
        if (shadow.config.connectionString === config.connectionString) {
          throw new Error('shadowDatabaseUrl is the url of the database itself: emptying it would lose your data')
        }
        const name = pg.escapeIdentifier(shadow.schema ?? 'public')
        await withClient(shadow.config, (client) =>
          client.query(`drop schema if exists ${name} cascade; create schema ${name}`),
        )
        return connect(shadow.config, shadow.schema)
      }
      const database = `prisma_migrate_shadow_db_${randomUUID()}`
      await withClient(config, (client) => client.query(`create database "${database}"`))
      const url = new URL(config.connectionString)
      url.pathname = `/${database}`
      return connect({ ...config, connectionString: url.href }, schema, () =>
        withClient(config, (client) => client.query(`drop database if exists "${database}" with (force)`)),
      )
    },
  }
}

/** One session for all statements, because the engine holds an advisory lock in it. */
async function connect(config, schema, afterDispose) {
  const adapter = await new PrismaPg(config, { schema }).connect()
  const pool = adapter.underlyingDriver()
  // adapter-pg refuses columns of type "char" (oid 18), which the engine's catalog queries return: show them to it as
  // varchar (oid 1043), then give the columns their type back.
  let charColumns = []
  pool.on('connect', (client) =>
    client.connection.prependListener('rowDescription', ({ fields }) => {
      charColumns = fields.flatMap((field, index) => (field.dataTypeID === 18 ? [index] : []))
      for (const index of charColumns) fields[index].dataTypeID = 1043
    }),
  )
  const queryRaw = adapter.queryRaw.bind(adapter)
  adapter.queryRaw = async (query) => {
    charColumns = []
    const result = await queryRaw(query)
    for (const index of charColumns) result.columnTypes[index] = ColumnTypeEnum.Character
    return result
  }
  // adapter-pg cuts a script at every semicolon, those inside function bodies too.
  adapter.executeScript = (sql) =>
    pool.query(sql).then(
      () => undefined,
      (error) => adapter.onError(error),
    )
  const dispose = adapter.dispose.bind(adapter)
  adapter.dispose = async () => {
    await dispose()
    await afterDispose?.()
  }
  return adapter
}

async function withClient(config, body) {
  const client = new pg.Client(config)
  await client.connect()
  try {
    return await body(client)
  } finally {
    await client.end()
  }
}

// ---- the "cli" commands

async function runCommand(command) {
  const { config } = target(datasource.url)
  const url = new URL(config.connectionString)
  const database = pg.escapeIdentifier(decodeURIComponent(url.pathname.slice(1)))
  url.pathname = '/postgres'
  const maintenance = { connectionString: url.href }
  log('INFO', { message: 'Starting schema engine CLI' })
  try {
    if (command === 'can-connect-to-database') await withClient(config, (client) => client.query('select 1'))
    else if (command === 'create-database') {
      await withClient(maintenance, (client) => client.query(`create database ${database}`))
    } else if (command === 'drop-database') {
      await withClient(maintenance, (client) => client.query(`drop database ${database}`))
      log('INFO', { message: 'The database was successfully dropped.' })
    } else throw new Error(`unknown command ${command}`)
  } catch (error) {
    const first = error.errors?.[0] ?? error // an AggregateError where a host name has several addresses
    log('ERROR', { is_panic: false, error_code: prismaCode(first.code), message: first.message })
    process.exitCode = 1
  }
}

function log(level, fields) {
  const entry = { timestamp: new Date().toISOString(), level, fields, target: 'schema_engine::logger' }
  process.stderr.write(`${JSON.stringify(entry)}\n`)
}

function prismaCode(code) {
  const known = {
    '3D000': 'P1003',
    '28P01': 'P1000',
    28000: 'P1010',
    ECONNREFUSED: 'P1001',
    ENOTFOUND: 'P1001',
    ETIMEDOUT: 'P1002',
  }
  return known[code] ?? 'P1011'
}
