import { proveModel } from './proveModel.js'
import { CONFIGURATIONS } from './transaction/configurations.js'
import { PLANTS } from './transaction/plants.js'
import { transactionModel } from './transactionModel.js'

proveModel({ model: transactionModel, configurations: CONFIGURATIONS, plants: PLANTS })
