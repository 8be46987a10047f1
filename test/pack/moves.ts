import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const seeAMove = (where: string) => `
  const fs = require('node:fs')
  const directory = fs.mkdtempSync('${where}/move-')
  fs.writeFileSync(directory + '/a', '')
  const inotify = new bridge.Inotify()
  inotify.add(directory, bridge.IN_MOVED_TO)
  inotify.on('events', (batch) => {
    for (const { mask, name } of batch) console.log(bridge.formatMask(mask), name)
    inotify.close()
  })
  fs.renameSync(directory + '/a', directory + '/b')
`

/** The output of each of the two programs. */
export const SEEN_MOVE = 'IN_MOVED_TO b\n'

/** Writes esm.mjs and cjs.cjs, which import and require the package that is installed there, and see a file move below `where`. */
export function writeMoves(directory: string, where = '.'): void {
  const imports = `import * as bridge from 'inotify-bridge'\nimport { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)`
  writeFileSync(join(directory, 'esm.mjs'), imports + seeAMove(where))
  writeFileSync(join(directory, 'cjs.cjs'), `const bridge = require('inotify-bridge')${seeAMove(where)}`)
}
