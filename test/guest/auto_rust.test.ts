import { virtiofs } from './virtiofs.ts'

// The default mode of Kata's daemon. `auto` of the C daemon has the other promises.
virtiofs('auto', { rust: true, brief: true })
