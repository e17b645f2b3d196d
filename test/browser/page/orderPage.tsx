import { QueryClientProvider, useMutation, useMutationState } from '@tanstack/react-query'
import { createTRPCContext } from '@trpc/tanstack-react-query'
import { StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { IntentUnresolvedError, useIntent } from 'trpc-idempotency/react-query'
import type { Shop } from '../../reactQuery/shop.js'
import { client, othersMutations, queryClient, takeUp } from './shopClient.js'

const { TRPCProvider, useTRPC } = createTRPCContext<Shop>()

/** A form that holds an intent. */
function OrderForm() {
  const [item, setItem] = useState('tea')
  const [said, say] = useState('')
  const intent = useIntent((input: { item: string; cents: number }) => client.order.create.mutate(input))
  const show = (answer: Promise<{ id: number; item: string }>) =>
    answer.then(
      (order) => say(`order ${order.id}: ${order.item}`),
      (error: Error) => say(error instanceof IntentUnresolvedError ? 'unresolved' : 'failed'),
    )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void show(intent.run({ item, cents: 350 }))
      }}
    >
      <input name="item" value={item} onChange={(event) => setItem(event.target.value)} />
      <button type="submit">Order</button>
      <button type="button" onClick={() => void show(intent.retry())}>
        Try again
      </button>
      <button type="button" onClick={intent.abandon}>
        Give up
      </button>
      <output id="form">{said}</output>
      <output id="intent">{intent.status}</output>
    </form>
  )
}

/** A button whose component is rendered again and again, each time with new options. */
function OrderButton() {
  const trpc = useTRPC()
  const [renders, setRenders] = useState(0)
  const create = useMutation(trpc.order.create.mutationOptions({ meta: { renders } }))
  useEffect(() => {
    const timer = setInterval(() => setRenders((before) => before + 1), 5)
    return () => clearInterval(timer)
  }, [])
  return (
    <>
      <button type="button" onClick={() => create.mutate({ item: 'milk', cents: 120 })}>
        Milk
      </button>
      <output id="milk">{create.isPaused ? 'paused' : (create.data?.item ?? create.status)}</output>
      <output id="renders">{renders}</output>
    </>
  )
}

/** Every mutation that the page knows of, those of the last page too. */
function Mutations() {
  const states = useMutationState({ select: ({ state }) => state })
  const lines = states.map(({ status, isPaused, data }) => (isPaused ? 'paused' : JSON.stringify(data ?? status)))
  return (
    <>
      <output id="mutations">{lines.join(' ')}</output>
      <output id="others">{othersMutations.length}</output>
    </>
  )
}

createRoot(document.body.appendChild(document.createElement('main'))).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <TRPCProvider trpcClient={client} queryClient={queryClient}>
        <OrderForm />
        <OrderButton />
        <Mutations />
      </TRPCProvider>
    </QueryClientProvider>
  </StrictMode>,
)
void takeUp()
