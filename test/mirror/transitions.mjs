// Runs in a mount namespace, on a tmpfs of its own: for each transition, of one and of three sources, has the first source of a mirror go from
// one layout to another and back while a program reads the target as fast as it can (test/native/tight_reader.c), and prints as JSON what that
// met and what the mirror said. Without arguments: the transitions' names.
//
//   unshare -m[r] node transitions.mjs plain|FUSE|bindfs ROUNDS DIRECTORY READER
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { mount } from './fuse_mount.mjs'
import { lay, version } from './layouts.mjs'

/** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
const { mirror } = await import(join(import.meta.dirname, '../../dist/index.js'))

const [, , kind = '', rounds = '', base = '', reader = ''] = process.argv

/**
 * `layouts` take turns; `read` are the names that all of them have. `content` and `shown` say which version is in the source in a round,
 * and which in the target.
 *
 * @typedef {object} Transition
 * @property {string[]} read
 * @property {Array<(content: string) => import('./layouts.mjs').Layout>} layouts
 * @property {(round: number) => number} [content]
 * @property {(round: number) => number} [shown]
 * @property {'link' | 'hold'} [overLimit]
 */

/** By links all versions of the source are seen at once, and not by generations: so it has the same one at its way back. */
const flowing = { content: (/** @type {number} */ n) => n - 1 + (n % 2) }
const more = (/** @type {string} */ c) => ({ 'n/c': c, d: c, e: c })

/** @type {Record<string, Transition>} */
const TRANSITIONS = {
  'a ConfigMap goes over the limits and back, link': {
    read: ['a', 'b'],
    layouts: [(c) => ({ keys: { a: c, b: c } }), (c) => ({ keys: { a: c, b: c, ...more(c) } })],
    ...flowing,
    overLimit: 'link',
  },
  'a ConfigMap goes over the limits and back, hold': {
    read: ['a', 'b'],
    layouts: [(c) => ({ keys: { a: c, b: c } }), (c) => ({ keys: { a: c, b: c, ...more(c) } })],
    shown: (n) => n - (n % 2),
    overLimit: 'hold',
  },
  'a flat directory goes over the limits and back': {
    read: ['a', 'sub/b'],
    layouts: [(c) => ({ files: { a: c, 'sub/b': c } }), (c) => ({ files: { a: c, 'sub/b': c, ...more(c) } })],
    ...flowing,
  },
  'a key becomes a file and back': {
    read: ['a', 'b'],
    layouts: [(c) => ({ keys: { a: c, b: c } }), (c) => ({ keys: { b: c }, files: { a: c } })],
  },
  'a ConfigMap becomes a flat directory and back': {
    read: ['a', 'b', 'n/c'],
    layouts: [(c) => ({ keys: { a: c, b: c, 'n/c': c } }), (c) => ({ files: { a: c, b: c, 'n/c': c } })],
  },
  'a ConfigMap becomes a flat directory over the limits and back': {
    read: ['a', 'b'],
    layouts: [(c) => ({ keys: { a: c, b: c } }), (c) => ({ files: { a: c, b: c, ...more(c) } })],
    ...flowing,
  },
  'a key becomes a file over the limits and back': {
    read: ['a', 'b'],
    layouts: [(c) => ({ keys: { a: c, b: c } }), (c) => ({ keys: { b: c, ...more(c) }, files: { a: c } })],
    ...flowing,
  },
}

if (kind === '') {
  process.stdout.write(JSON.stringify(Object.keys(TRANSITIONS)))
  process.exit()
}
if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
fs.mkdirSync(join(base, 'back'))
const front = await mount(kind, join(base, 'back'), join(base, 'front'))

/**
 * @param {Transition} transition
 * @param {number} sources
 * @param {string} place the name of what is of this one alone, in the source's directory and beside it
 */
async function play({ read, layouts, content = (n) => n, shown = content, overLimit }, sources, place) {
  const [back, target] = [join(base, 'back', place), join(base, place)]
  /** @param {number} n */
  const layout = (n) => layouts[n % layouts.length]?.(version(content(n))) ?? {}
  /** Others are ConfigMaps that stay what they are. */
  const others = Array.from({ length: sources - 1 }, (_, n) => `other${n}`)
  for (const name of ['changes', ...others]) fs.mkdirSync(join(back, name), { recursive: true })
  lay(join(back, 'changes'), layout(0))
  for (const name of others) lay(join(back, name), { keys: { [name]: version(0) } })

  const started = await mirror(
    ['changes', ...others].map((name) => join(front, place, name)),
    target,
    // No pass but those that are asked for: where a key becomes a directory, or one a key, its name is missing in the source for a moment.
    { interval: 3_600_000, quiet: 1, limits: { files: 4, bytes: 1e6 }, ...(overLimit && { overLimit }) },
  )
  /** @type {string[]} */
  const said = []
  started.on('state', (state, reason) => state === 'source-lost' && said.push(reason))
  started.on('error', (error) => said.push(String(error)))
  started.on('skipped', ({ path, reason }) => said.push(`${path}: ${reason}`))

  const child = spawn(reader, [target, ...read, '--', ...others], { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  /** @type {string[]} */
  const wrong = []
  for (let n = 1; n <= Number(rounds); n++) {
    const removeOld = lay(join(back, 'changes'), layout(n))
    await started.refresh()
    // A reader that has followed ..data and not yet opened what it led to would meet nothing there, on the kubelet's volumes as well.
    child.stdin.write('.')
    await once(child.stdout, 'data')
    removeOld()
    for (const name of read)
      if (fs.readFileSync(join(target, name), 'utf8') !== version(shown(n)))
        wrong.push(`${name} in round ${n}`)
  }
  child.stdin.end()
  const { reads, ...met } = JSON.parse(await text(child.stdout))
  await started.close()
  return { reads, met, said, wrong }
}

/** @type {Record<string, object>} */
const played = {}
for (const [n, [name, transition]] of Object.entries(TRANSITIONS).entries())
  for (const sources of [1, 3])
    played[`${name}: ${sources}`] = await play(transition, sources, `${n} of ${sources}`).catch((error) => ({
      error: String(error.stack),
    }))
process.stdout.write(JSON.stringify(played))
process.exit()
