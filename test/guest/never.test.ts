import { virtiofs } from './virtiofs.ts'

// The same as `none` of the C daemon.
virtiofs('never', { rust: true, brief: true })
