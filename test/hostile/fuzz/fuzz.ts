import process from 'node:process'
import fc from 'fast-check'

/** How many inputs all properties are tried with together. `npm run test:fuzz` has 120,000. */
const ASKED = process.env['FUZZ_INPUTS']
const INPUTS = Number(ASKED ?? 3000)

interface Trial<Input> {
  inputs: fc.Arbitrary<Input>
  /** Of all the inputs, the part that this property has. */
  share: number
  /** How many are tried at a time. */
  atATime?: number
}

/**
 * Tries a property with its share of inputs. By default they are the same ones each time, so that a test that passed
 * passes again; whoever asks for a number of inputs is given others each time, and the seed of those that failed.
 */
export async function fuzz<Input>(
  { inputs, share, atATime = 20 }: Trial<Input>,
  property: (inputs: Input[]) => Promise<void> | void,
): Promise<void> {
  const several = fc.array(inputs, { minLength: atATime, maxLength: atATime, size: 'max' })
  await fc.assert(
    fc.asyncProperty(several, async (batch) => property(batch)),
    // Shrinking over HTTP and a database takes its time: whoever looks at a failure can give it more.
    {
      numRuns: Math.ceil((INPUTS * share) / atATime),
      interruptAfterTimeLimit: 1_500_000,
      ...(ASKED === undefined && { seed: 1 }),
    },
  )
}
