import { join } from 'node:path'
import { installed, rebuildsByLine, versionIn } from './rebuilds.mjs'

/** nodemon, installed twice: as it is, and with the override that examples/package.json has. @type {import('./rebuilds.mjs').Program} */
export const nodemon = {
  name: 'nodemon',
  how: 'an override of chokidar in package.json',
  file: 'app.mjs',
  text: (version) => `console.log('version = ${version}') // ${'-'.repeat(version)}\n`,
  files: {},
  run({ project, isOurs, start }) {
    // A link to packages/chokidar is not followed: what that imports lies beside the link, as it does where npm has fetched both.
    const args = isOurs
      ? ['--preserve-symlinks', installed('nodemon-overridden/bin/nodemon.js')]
      : [installed('nodemon/bin/nodemon.js')]
    const app = join(project, 'app.mjs')
    // What the restarted app prints.
    return rebuildsByLine(
      start(process.execPath, [...args, '--watch', project, app]),
      (line) => versionIn(line) || undefined,
    )
  },
}
