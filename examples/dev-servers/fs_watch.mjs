// node --import fs_watch.mjs PROGRAM: what the program calls fs.watch() is that of inotify-bridge/fs. It is not changed for that, nor does it know.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { promises, watch } from '../../dist/fs.js'

Object.assign(fs, { watch })
Object.assign(fs.promises, { watch: promises.watch })
// Who has imported them by name has the new ones as well.
syncBuiltinESMExports()
