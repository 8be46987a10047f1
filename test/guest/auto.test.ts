import { virtiofs } from './virtiofs.ts'

virtiofs('auto', { intervals: [50, 250, 1000] })
