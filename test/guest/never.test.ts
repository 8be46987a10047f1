import { virtiofs } from './virtiofs.ts'

// `none` of the C daemon has the rest of what is promised.
virtiofs('never', { rust: true, brief: true })
