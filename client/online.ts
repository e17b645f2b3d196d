/**
 * Runs something as soon as the browser is not offline: at once, where it does not know or is none. `onLine` errs to one
 * side alone: it can say yes without a connection, and says no only where there is none.
 *
 * @param onPause called where it has to wait
 * @returns what stops the waiting; `undefined` where there was none
 */
export function whenOnline(run: () => void, onPause: () => void): (() => void) | undefined {
  // What has a `navigator` without knowing whether it is online is no browser.
  if ((globalThis.navigator as Partial<Navigator> | undefined)?.onLine !== false) {
    run()
    return undefined
  }
  onPause()
  addEventListener('online', run, { once: true })
  return () => removeEventListener('online', run)
}
