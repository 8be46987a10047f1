import { join } from 'node:path'
import { installed, PRELOAD, rebuildsByLine, versionIn } from './rebuilds.mjs'

/** nodemon, whose chokidar calls fs.watch() of each directory and file. @type {import('./rebuilds.mjs').Program} */
export const nodemon = {
  name: 'nodemon',
  how: 'node --import fs_watch.mjs nodemon',
  file: 'app.mjs',
  text: (version) => `console.log('version = ${version}') // ${'-'.repeat(version)}\n`,
  files: {},
  run({ project, isOurs, start }) {
    const program = installed(`${'nodemon'}/bin/nodemon.js`)
    const app = join(project, 'app.mjs')
    // What the restarted app prints.
    return rebuildsByLine(
      start(process.execPath, [...(isOurs ? PRELOAD : []), program, '--watch', project, app]),
      (line) => versionIn(line) || undefined,
    )
  },
}
