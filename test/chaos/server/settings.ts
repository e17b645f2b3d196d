/** What a server is started with. */
export interface ChaosServerSettings {
  databaseUrl: string
  providerUrl: string
  seed: number
  /** How many servers were started, this one included. */
  nth: number
}
