/** What any idempotency key looks like: 16 to 255 visible ASCII characters. */
export const KEY_PATTERN = /^[!-~]{16,255}$/
