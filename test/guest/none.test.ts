import { virtiofs } from './virtiofs.ts'

// Nothing is remembered: what is promised of the other modes is hardest there.
virtiofs('none', { brief: true })
