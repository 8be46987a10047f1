import { virtiofs } from './virtiofs.ts'

// Data is cached as in `auto`, attributes and names as in `always`. Those modes have the other promises.
virtiofs('metadata', { rust: true, brief: true })
