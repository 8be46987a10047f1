import { virtiofs } from './virtiofs.ts'

virtiofs('auto')
