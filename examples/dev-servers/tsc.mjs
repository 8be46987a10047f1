import { join } from 'node:path'
import { installed, moduleText, PRELOAD, rebuildsByLine, versionBuilt } from './rebuilds.mjs'

/** TypeScript's compiler. Its version 7 is a native program, into which no module can be loaded: this is the last that is JavaScript. @type {import('./rebuilds.mjs').Program} */
export const tsc = {
  name: 'tsc',
  how: 'node --import fs_watch.mjs tsc --watch',
  file: 'module.ts',
  text: moduleText,
  files: {
    'tsconfig.json': '{ "compilerOptions": { "rootDir": ".", "types": [], "removeComments": true } }',
  },
  run({ project, out, isOurs, start }) {
    const args = ['--watch', '--project', project, '--outDir', out, '--preserveWatchOutput']
    const own = [installed('typescript/bin/tsc'), ...args]
    return rebuildsByLine(start(process.execPath, isOurs ? [...PRELOAD, ...own] : own), (line) =>
      line.includes('Watching for file changes') ? versionBuilt(join(out, 'module.js')) : undefined,
    )
  },
}
