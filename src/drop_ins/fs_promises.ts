import nodes from 'node:fs'
import own from '../entries/fs_promises.ts'
import { handsOver } from '../original.ts'

const whole = handsOver('inotify-bridge/fs/promises', 'node:fs/promises') ? nodes.promises : own
export const { watch } = whole
export default whole
