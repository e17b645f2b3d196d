/** One partition of the table of keys. */
export interface Partition {
  /** Its name, quoted, with its schema. */
  readonly name: string
  /** Where its keys begin; `null` where they have no lower end. */
  readonly from: string | null
  /** Where they end; `null` for the default partition, which has no ends. */
  readonly to: string | null
}

/** The partitions of the table, as they are now. */
export interface Partitions {
  /** For what no other takes. */
  readonly rest: Partition
  /** Those of which every key is below a watermark that stood for a margin, the oldest first. */
  readonly forgotten: readonly Partition[]
}

/** How far ahead births have partitions. */
export interface PartitionPlan {
  /** How long the births of one partition last. */
  partitionMs: number
  /** How many are there beyond the present one. */
  ahead: number
}

/** How the drop of a partition ended. */
export type Drop =
  | 'dropped'
  /** Something is in it that has to stay. */
  | 'kept'
  /** Somebody works on the table, and did not end in time. Nothing was done. */
  | 'in use'

/** What partitions are made and dropped with, one transaction at a time. */
export interface Partitioner {
  /** @returns `undefined` where the table is not partitioned, or has no default partition */
  partitions(): Promise<Partitions | undefined>
  /**
   * Makes the partitions that are missing. Not one whose keys the default partition has already.
   *
   * @returns how many were made; `in use` where a lock was not had in `lockMs`
   */
  makeAhead(plan: PartitionPlan, lockMs: number): Promise<number | 'in use'>
  /** Whether something is in it that has to stay: a lease that lives, or what a person has to decide. */
  hasKept(partition: Partition): Promise<boolean>
  /**
   * Deletes a batch of the recovery points of what is settled there, in the order of their keys.
   *
   * @param after the last key of the batch before; `null` for the first
   */
  deletePoints(
    partition: Partition,
    batch: { after: string | null; batchSize: number },
  ): Promise<{ deleted: number; last: string | null }>
  /** Drops a partition that is forgotten, with all that is in it. */
  drop(partition: Partition, lockMs: number): Promise<Drop>
  /** Deletes a batch of what is forgotten, as a sweep does, from one partition alone; gives their number. */
  deleteBatch(partition: Partition, batchSize: number): Promise<number>
  /** Raises the watermark, as a sweep does. */
  raiseWatermark(): Promise<boolean>
}
