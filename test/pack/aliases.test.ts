// A program that asks for chokidar or @parcel/watcher has inotify-bridge in their place by an alias, as docs/chokidar.md and docs/parcel.md have it.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { packBuilt, ROOT } from './checkout.ts'
import { environment, MANAGERS, type Manager, runIn } from './managers.ts'

const folder = mkdtempSync(join(tmpdir(), 'inotify-bridge-aliases-'))
afterAll(() => rmSync(folder, { recursive: true }))

const npm: Manager = {
  program: () =>
    join(execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim(), 'npm/bin/npm-cli.js'),
  add: () => [],
  install: ['install', '--ignore-scripts', '--no-audit', '--no-fund'],
  overrides: (packages) => ({ overrides: packages }),
}

// require() of an ES module asks no loader of PnP's for what that module imports.
const OTHERS = Object.entries(MANAGERS).filter(([name]) => !name.endsWith('PnP'))

const PACKAGES = { chokidar: 'chokidar', '@parcel/watcher': 'parcel-watcher' }

const ALIASES = Object.fromEntries(
  Object.entries(PACKAGES).map(([original, folder]) => {
    const { name, version } = JSON.parse(readFileSync(join(ROOT, 'packages', folder, 'package.json'), 'utf8'))
    return [original, `npm:${name}@^${version}`]
  }),
)

const ASKS = {
  name: 'asks',
  version: '1.0.0',
  dependencies: { chokidar: '^3.6.0', '@parcel/watcher': '^2.4.0' },
}

/** As @angular-devkit/core has it: npm would refuse what is not of that version, but for the override. */
const ASKS_AS_PEER = {
  name: 'asks-as-peer',
  version: '1.0.0',
  peerDependencies: { chokidar: '^3.5.2' },
  peerDependenciesMeta: { chokidar: { optional: true } },
}

const ASK = `
const fs = require('node:fs')
const { watch, FSWatcher, default: all } = require('chokidar')
const { subscribe } = require('@parcel/watcher')
const watcher = watch('watched').on('all', (...args) => {
  console.log(args.join(' '), watcher instanceof FSWatcher, all.watch === watch)
  if (args[0] === 'add') watcher.close().then(() => subscribe('watched', (error, events) => {
    console.log(events[0].type)
    subscription.then((each) => each.unsubscribe())
  })).then((each) => { subscription = Promise.resolve(each); fs.writeFileSync('watched/g', '') })
}).on('ready', () => fs.writeFileSync('watched/f', ''))
let subscription`

let tarballs: string[]
beforeAll(() => {
  const own = Object.values(PACKAGES).map((name) => join(ROOT, 'packages', name))
  const asking = [ASKS, ASKS_AS_PEER].map((description) => {
    const directory = join(folder, description.name)
    mkdirSync(directory)
    writeFileSync(join(directory, 'package.json'), JSON.stringify(description))
    writeFileSync(join(directory, 'index.js'), ASK)
    return directory
  })
  const pack = ['pack', '--silent', '--pack-destination', folder, ...own, ...asking]
  const packed = execFileSync('npm', pack, { encoding: 'utf8' }).trim().split('\n')
  tarballs = [packBuilt(folder), ...packed].map((name) => join(folder, name))
})

/** A registry that has this package, those in packages/ and those that ask for others. */
async function serve(): Promise<AsyncDisposable & { url: string }> {
  const upstream = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  const argv = [join(import.meta.dirname, 'registry.mjs'), upstream, ...tarballs]
  const server = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [url] = await once(server.stdout, 'data')
  return {
    url: String(url).trim(),
    async [Symbol.asyncDispose]() {
      const ended = once(server, 'exit')
      server.stdin.end()
      await ended
    },
  }
}

test.each([['npm', npm] as const, ...(isLong ? OTHERS : [])])(
  'by %s (others than npm: npm run test:long)',
  async (name, { program, install, overrides, files }) => {
    const directory = join(folder, name.replace(/\W+/g, '-'))
    mkdirSync(join(directory, 'watched'), { recursive: true })
    await using registry = await serve()
    const env = environment()
    const own = {
      npm_config_registry: registry.url,
      YARN_REGISTRY: registry.url,
      YARN_NPM_REGISTRY_SERVER: registry.url,
      YARN_UNSAFE_HTTP_WHITELIST: [env.YARN_UNSAFE_HTTP_WHITELIST, '127.0.0.1'].join(),
      YARN_ENABLE_IMMUTABLE_INSTALLS: 'false',
      // An earlier run may have had another package of the same version.
      npm_config_cache: join(directory, '.npm'),
      YARN_CACHE_FOLDER: join(directory, '.cache'),
      YARN_GLOBAL_FOLDER: join(directory, '.global'),
    }
    const description = {
      name: 'stranger',
      private: true,
      dependencies: { 'inotify-bridge': '^0.1.0', asks: '^1.0.0', 'asks-as-peer': '^1.0.0' },
      ...overrides(ALIASES),
    }
    const written = { ...files, 'package.json': JSON.stringify(description) }
    for (const [file, text] of Object.entries(written)) writeFileSync(join(directory, file), text)
    const run = runIn(directory, { ...env, ...own })
    run([program(), ...install])
    expect(run(['-e', 'require("asks")'])).toBe('addDir watched true true\nadd watched/f true true\ncreate\n')
  },
)
