import { virtiofs } from './virtiofs.ts'

virtiofs('metadata', { rust: true })
