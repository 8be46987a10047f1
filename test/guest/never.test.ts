import { virtiofs } from './virtiofs.ts'

virtiofs('never', { rust: true })
