import { runClientAndServer } from '../support/runClientAndServer.js'

await runClientAndServer({ server: () => import('./server.js'), client: () => import('./client.js') })
