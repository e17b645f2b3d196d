import { defineConfig } from 'prisma/config'
// For what it does to Prisma's engine, which this package needs too.
import '../prisma.config.js'

export default defineConfig({ schema: 'peers/handWritten/schema.prisma' })
