// The programs as the registry has them. Nothing here knows of inotify-bridge.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { textOf } from '../stage.mjs'

/**
 * @typedef {object} Place
 * @property {string} project where the program sees its project
 * @property {string} out where what it builds goes
 * @property {number} port that is free
 *
 * @typedef {object} Program
 * @property {string} name
 * @property {string} bin its command, below node_modules
 * @property {string} file the one that is edited
 * @property {(version: number) => string} text what is in it
 * @property {Record<string, string>} [files] the others
 * @property {string} [written] a directory of the project that it writes to
 * @property {(place: Place) => string[]} args
 * @property {(place: Place, output: string) => string | Promise<string>} built what of the file has been built
 */

const MAIN = `import { version } from './module.js'\nconsole.log(version)\n`

// Each version has another size: no two of them are alike to who compares times that are coarse.
const module = (/** @type {number} */ version) =>
  `export const version = ${version} // ${'-'.repeat(version)}\n`

const served =
  (/** @type {string} */ path) =>
  (/** @type {Place} */ { port }) =>
    textOf(`http://127.0.0.1:${port}${path}`)
const written =
  (/** @type {string} */ name) =>
  (/** @type {Place} */ { out }) =>
    readFileSync(join(out, name), 'utf8')

/** @type {Program[]} */
export const PROGRAMS = [
  {
    name: 'vite',
    bin: 'vite/bin/vite.js',
    file: 'module.js',
    text: module,
    files: {
      'index.html': '<script type="module" src="/main.js"></script>\n',
      'main.js': MAIN,
      // What Vite keeps is not kept in the project, which is read-only here.
      'vite.config.mjs': 'export default { cacheDir: process.env.OUT }\n',
    },
    args: ({ project, port }) => [
      ...[project, '--config', join(project, 'vite.config.mjs'), '--configLoader', 'native'],
      ...['--host', '127.0.0.1', '--port', `${port}`, '--strictPort'],
    ],
    built: served('/module.js'),
  },
  {
    name: 'next',
    bin: 'next/dist/bin/next',
    file: 'app/page.jsx',
    text: (version) => `export default () => <p>{'version = ${version}'}</p> // ${'-'.repeat(version)}\n`,
    files: {
      'app/layout.jsx': 'export default ({ children }) => <html><body>{children}</body></html>\n',
      'package.json': '{}\n',
    },
    written: '.next',
    args: ({ project, port }) => ['dev', '--webpack', project, '-H', '127.0.0.1', '-p', `${port}`],
    built: served('/'),
  },
  {
    name: 'webpack',
    bin: 'webpack-cli/bin/cli.js',
    file: 'module.js',
    text: module,
    files: { 'main.js': MAIN },
    args: ({ project, out }) => [
      ...['watch', '--mode', 'none', '--context', project, '--entry', './main.js', '--output-path', out],
    ],
    built: written('main.js'),
  },
  {
    name: 'webpack-dev-server',
    bin: 'webpack-cli/bin/cli.js',
    file: 'module.js',
    text: module,
    files: { 'main.js': MAIN },
    args: ({ project, port }) => [
      ...['serve', '--mode', 'none', '--context', project, '--entry', './main.js', '--no-static'],
      ...['--host', '127.0.0.1', '--port', `${port}`],
    ],
    built: served('/main.js'),
  },
  {
    // Version 7 is a native program, into which no module can be loaded: this is the last that is JavaScript.
    name: 'tsc',
    bin: 'typescript/bin/tsc',
    file: 'module.ts',
    text: module,
    files: {
      'tsconfig.json': '{ "compilerOptions": { "rootDir": ".", "types": [], "removeComments": true } }',
    },
    args: ({ project, out }) => ['--watch', '--project', project, '--outDir', out],
    built: written('module.js'),
  },
  {
    name: 'nodemon',
    bin: 'nodemon/bin/nodemon.js',
    file: 'app.mjs',
    text: (version) => `console.log('version = ${version}') // ${'-'.repeat(version)}\n`,
    args: ({ project }) => ['--watch', project, join(project, 'app.mjs')],
    // What the restarted app prints.
    built: (_, output) => output.slice(output.lastIndexOf('version = ')),
  },
]
