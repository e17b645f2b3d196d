import { QueryClientProvider } from '@tanstack/react-query'
import { createTRPCReact } from '@trpc/react-query'
import { createRoot } from 'react-dom/client'
import type { Shop } from '../../reactQuery/shop.js'
import { links, queryClient } from './shopClient.js'

// The classic hooks.

const trpc = createTRPCReact<Shop>()

function OrderButton() {
  const create = trpc.order.create.useMutation()
  return (
    <>
      <button type="button" onClick={() => create.mutate({ item: 'milk', cents: 120 })}>
        Milk
      </button>
      <output id="milk">{create.data?.item ?? create.status}</output>
    </>
  )
}

createRoot(document.body.appendChild(document.createElement('main'))).render(
  <trpc.Provider client={trpc.createClient({ links })} queryClient={queryClient}>
    <QueryClientProvider client={queryClient}>
      <OrderButton />
    </QueryClientProvider>
  </trpc.Provider>,
)
