import { CONFIGURATIONS } from './lease/configurations.js'
import { PLANTS } from './lease/plants.js'
import { leaseModel } from './leaseModel.js'
import { proveModel } from './proveModel.js'

proveModel({ model: leaseModel, configurations: CONFIGURATIONS, plants: PLANTS })
