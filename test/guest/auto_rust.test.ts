import { virtiofs } from './virtiofs.ts'

// The mode that Kata's daemon has unless it is told another. `auto` of the C daemon has the rest of what is promised.
virtiofs('auto', { rust: true, brief: true })
