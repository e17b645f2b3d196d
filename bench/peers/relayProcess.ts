import process from 'node:process'
import { startRelay } from './relay.js'

// This file is a program: a relay beside the load, not in the process that makes it. It ends with the one that forked it.
process.once('disconnect', () => process.exit())
const [url = '', delayMs = '0'] = process.argv.slice(2)
const relay = await startRelay(url, Number(delayMs))
process.send?.({ url: relay.url })
