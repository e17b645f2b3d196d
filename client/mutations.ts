import type { AnyTRPCMutationProcedure, AnyTRPCProcedure, AnyTRPCRouter, TRPCRouterRecord } from '@trpc/server'
import type { Idempotent } from '../wire/mark.js'

type Join<Prefix extends string, Key extends string> = Prefix extends '' ? Key : `${Prefix}.${Key}`

/** `keyof Idempotent` is the mark itself: a symbol that no other meta type can have, but `any`, which has everything. */
type IsIdempotent<Procedure> = Procedure extends AnyTRPCMutationProcedure
  ? 0 extends 1 & Procedure['meta']
    ? false
    : keyof Idempotent extends keyof Procedure['meta']
      ? true
      : false
  : false

/** The paths of the mutations of a router that are idempotent on the server (`true`) or are not (`false`). */
type PathsOf<Record extends TRPCRouterRecord, Wanted extends boolean, Prefix extends string = ''> = {
  [Key in keyof Record & string]: Record[Key] extends AnyTRPCProcedure
    ? Record[Key]['_def']['type'] extends 'mutation'
      ? IsIdempotent<Record[Key]> extends Wanted
        ? Join<Prefix, Key>
        : never
      : never
    : Record[Key] extends TRPCRouterRecord
      ? PathsOf<Record[Key], Wanted, Join<Prefix, Key>>
      : never
}[keyof Record & string]

/** The paths of the mutations that the server made idempotent. */
export type IdempotentPaths<Router extends AnyTRPCRouter> = PathsOf<Router['_def']['record'], true>

/** The paths of the mutations that it did not: retrying one of them may execute it twice. */
export type OtherMutationPaths<Router extends AnyTRPCRouter> = PathsOf<Router['_def']['record'], false>
