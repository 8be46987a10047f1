import { virtiofs } from './virtiofs.ts'

// As `none` of the C daemon.
virtiofs('never', { rust: true, brief: true })
