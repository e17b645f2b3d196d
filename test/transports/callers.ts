import { experimental_nextAppDirCaller as nextAppDirCaller } from '@trpc/server/adapters/next-app-dir'
import { callerInProcess } from './inProcess.js'
import { confirm, create, pay, shopProcedures } from './shop.js'
import { reserve } from './stock.js'
import type { Transport } from './transport.js'

export const routerCaller: Transport = {
  name: 'createCaller',
  requests: [],
  async open({ router }) {
    return (user) => {
      const { shop } = router.createCaller({ user: { id: user } })
      return callerInProcess({
        'shop.order.create': shop.order.create,
        'shop.order.confirm': shop.order.confirm,
        'shop.stock.reserve': shop.stock.reserve,
        'shop.pay': shop.pay,
      })
    }
  },
}

/** Procedures that are functions, called by themselves: in no router, and with a path that their metadata names. */
export const serverActions: Transport = {
  name: 'server actions',
  requests: [],
  async open(options) {
    return (user) => {
      const caller = nextAppDirCaller({
        createContext: async () => ({ user: { id: user } }),
        pathExtractor: ({ meta }) => (meta as { path: string }).path,
      })
      const procedures = shopProcedures(options, caller)
      return callerInProcess({
        'shop.order.create': create(procedures),
        'shop.order.confirm': confirm(procedures),
        'shop.stock.reserve': reserve(procedures),
        'shop.pay': pay(procedures),
      })
    }
  },
}
