import { join } from 'node:path'
import { installed, moduleText, PRELOAD, rebuildsByLine, versionBuilt } from './rebuilds.mjs'

/** webpack's watch mode, whose watchpack calls fs.watch() of each directory. @type {import('./rebuilds.mjs').Program} */
export const webpack = {
  name: 'webpack',
  how: 'node --import fs_watch.mjs webpack watch',
  file: 'module.js',
  text: moduleText,
  files: { 'main.js': `import { version } from './module.js'\nconsole.log(version)\n` },
  run({ project, out, isOurs, start }) {
    const paths = ['--context', project, '--entry', './main.js', '--output-path', out]
    const own = [installed('webpack-cli/bin/cli.js'), 'watch', '--mode', 'none', ...paths]
    return rebuildsByLine(start(process.execPath, isOurs ? [...PRELOAD, ...own] : own), (line) =>
      /^webpack .* compiled/.test(line) ? versionBuilt(join(out, 'main.js')) : undefined,
    )
  },
}
