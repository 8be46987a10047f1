import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetched } from '../../scripts/fetched.mjs'
import { isLong } from '../support/long.ts'
import { packBuilt } from './checkout.ts'
import { SEEN_MOVE, writeMoves } from './moves.ts'

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-managers-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A package manager: what installs a tarball in a directory where no script may run, and how a program of Node's is started there. */
interface Manager {
  program: () => string
  add: (tarball: string) => string[]
  node?: string[]
  files?: Record<string, string>
}

const yarn = () => join(fetched('@yarnpkg/cli-dist@4.18.1'), 'bin/yarn.js')
const yarnrc = (linker: string) => ({
  // Without a lock file of its own it asks a directory above whether it is a part of that.
  'yarn.lock': '',
  '.yarnrc.yml': `nodeLinker: ${linker}\nenableScripts: false\nenableTelemetry: false\nenableGlobalCache: false\n`,
})
const addToYarn = (tarball: string) => ['add', `inotify-bridge@file:${tarball}`]

const MANAGERS: Record<string, Manager> = {
  pnpm: {
    program: () => join(fetched('pnpm@10.34.8'), 'bin/pnpm.cjs'),
    add: (tarball) => ['add', '--ignore-scripts', tarball],
  },
  'yarn 1': {
    program: () => join(fetched('yarn@1.22.22'), 'bin/yarn.js'),
    add: (tarball) => ['add', '--ignore-scripts', '--no-progress', `file:${tarball}`],
  },
  'yarn 4, node_modules': { program: yarn, add: addToYarn, files: yarnrc('node-modules') },
  'yarn 4, PnP': { program: yarn, add: addToYarn, node: ['node'], files: yarnrc('pnp') },
}

// As npm has it, which yarn 4 does not ask. Whoever has a mirror may have it without TLS, or with certificates of his own.
function registry(): Record<string, string> {
  const asked = (key: string) => execFileSync('npm', ['config', 'get', key], { encoding: 'utf8' }).trim()
  const [url, authorities] = [asked('registry'), asked('cafile')]
  return {
    YARN_NPM_REGISTRY_SERVER: url,
    YARN_UNSAFE_HTTP_WHITELIST: new URL(url).hostname,
    ...(['', 'null', 'undefined'].includes(authorities) ? {} : { YARN_HTTPS_CA_FILE_PATH: authorities }),
  }
}

describe.skipIf(!isLong)(
  'installed where no script may run (fetches package managers: npm run test:long)',
  () => {
    let tarball: string
    let env: NodeJS.ProcessEnv
    beforeAll(() => {
      tarball = join(folder, packBuilt(folder))
      // Theirs, not those of the npm that has started this.
      const own = Object.entries(process.env).filter(([name]) => !/^npm_/.test(name))
      env = { ...Object.fromEntries(own), ...registry(), COREPACK_ENABLE_STRICT: '0' }
    })

    test.each(Object.entries(MANAGERS))('by %s: import and require see an IN_MOVED_TO', (name, manager) => {
      const directory = join(folder, name.replace(/\W+/g, '-'))
      mkdirSync(directory)
      const files = { 'package.json': '{ "name": "stranger", "private": true }', ...manager.files }
      for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text)
      writeMoves(directory)
      const run = (args: string[]) =>
        execFileSync(process.execPath, args, {
          cwd: directory,
          env,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
        })
      run([manager.program(), ...manager.add(tarball)])
      expect(existsSync(join(directory, 'node_modules/inotify-bridge'))).toBe(manager.node === undefined)
      const node = manager.node === undefined ? [] : [manager.program(), ...manager.node]
      for (const file of ['esm.mjs', 'cjs.cjs']) expect(run([...node, file])).toBe(SEEN_MOVE)
    })
  },
)
