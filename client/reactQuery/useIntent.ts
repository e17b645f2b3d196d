import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { createIntent, type HeldIntent, type IntentOptions } from '../intent.js'

/**
 * The intent of a form, held as long as the form is shown: see `createIntent`. The component is rendered again when the
 * intent's status changes.
 *
 * @param send what sends it, of the latest render; its mutations have to be called before it first waits
 */
export function useIntent<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  options: IntentOptions = {},
): Omit<HeldIntent<Input, Answer>, 'subscribe'> {
  const latest = useRef({ send, options })
  useEffect(() => {
    latest.current = { send, options }
  })
  const [intent] = useState(() =>
    createIntent((input: Input) => latest.current.send(input), {
      owner: options.owner && (() => latest.current.options.owner?.() ?? ''),
    }),
  )
  const status = useSyncExternalStore(
    intent.subscribe,
    () => intent.status,
    () => intent.status,
  )
  const { run, retry, abandon } = intent
  return { status, run, retry, abandon }
}
