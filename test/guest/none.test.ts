import { virtiofs } from './virtiofs.ts'

virtiofs('none')
