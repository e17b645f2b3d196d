import canonicalize from 'canonicalize'
import { canonicalText, fingerprint } from '../../server/engine/fingerprint.js'
import { jsonSerializer } from '../../server/engine/serializer.js'

/** A typical input: an order of five lines, a little less than 600 bytes of JSON. */
const INPUT = {
  customer: 'cus_8f2c1d',
  currency: 'EUR',
  lines: Array.from({ length: 5 }, (_, at) => ({ sku: `tea-${at}`, quantity: at + 1, cents: 350, gift: at === 2 })),
  address: { street: '1 Example Street', city: 'Springfield', zip: '12345', country: 'DE' },
  note: 'please ring twice',
}

/** What it takes to tell a repeat from a reuse, and its parts. */
export function fingerprints() {
  const text = canonicalText(INPUT, jsonSerializer)
  return {
    'fingerprint of an order of five lines': () => fingerprint('order.create', canonicalText(INPUT, jsonSerializer)),
    'of it: the canonical text': () => canonicalText(INPUT, jsonSerializer),
    'of it: SHA-256': () => fingerprint('order.create', text),
    'for comparison: `JSON.stringify`': () => JSON.stringify(INPUT),
    'for comparison: canonical text without the serializer': () => canonicalize(INPUT),
  }
}
