/** On what took an option's place, and registered: the option itself. */
const ORIGINAL = Symbol.for('trpc-idempotency.original')

/**
 * Puts something in an option's place that knows the option. Where the option has been replaced for another mutation
 * already, as it is with `useMutation({ ...mutation.options })`, for the original: that replacement has the other one's key.
 */
export function replaceOption<Option, Replacement extends object>(
  option: Option,
  by: (original: Option) => Replacement,
): Replacement {
  const replaced = typeof option === 'function' && ORIGINAL in option
  const original = replaced ? (option[ORIGINAL] as Option) : option
  return Object.assign(by(original), { [ORIGINAL]: original })
}
