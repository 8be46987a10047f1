import { virtiofs } from './virtiofs.ts'

virtiofs('always')
