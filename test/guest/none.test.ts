import { virtiofs } from './virtiofs.ts'

// The kernel caches nothing. The promises of the other modes are harder to keep.
virtiofs('none', { brief: true })
