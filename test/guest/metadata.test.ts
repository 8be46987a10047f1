import { virtiofs } from './virtiofs.ts'

// Data is cached as in `auto`, attributes and names as in `always`, which have the rest of what is promised.
virtiofs('metadata', { rust: true, brief: true })
