import nodes from 'node:fs'
import * as own from '../entries/fs.ts'
import { handsOver } from '../original.ts'

const [named, whole] = handsOver('inotify-bridge/fs', 'node:fs') ? [nodes, nodes] : [own, own.default]
export const { promises, unwatchFile, watch, watchFile } = named
export default whole
