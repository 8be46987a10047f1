// Runs in a mount namespace, on a tmpfs of its own: has a mirror meet each situation in every setting (one and three sources, what is over
// the limits linked and held), and prints as JSON what was not as it is to be. Without arguments: the situations' names.
//
//   unshare -m[r] node situations.mjs plain|FUSE all|some DIRECTORY
//
// 'some' is one of the four settings, by turns, and another on the other kind of mount.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { mount } from './fuse_mount.mjs'
import { lay } from './layouts.mjs'

const dist = join(import.meta.dirname, '../../dist')
/** Not a literal: dist is there only once it has been built. @type {typeof import('../../src/index.ts')} */
const { mirror } = await import(join(dist, 'index.js'))

/** @typedef {import('../../src/index.ts').Mirror} Mirror */
/** @typedef {import('./layouts.mjs').Layout} Layout */

const FILES = 4
const BYTES = 100

/** A source within the limits, and one beyond them. */
const within = (/** @type {string} */ content) => ({
  keys: { a: content, b: content },
  files: { c: content },
})
const beyond = (/** @type {string} */ content) => ({
  keys: { a: content, b: content },
  files: { c: content, d: content, e: content },
})

/** One setting: the sources, of which the first is the situation's and others are ConfigMaps, a target, and what the mirror of them says. */
class Setting {
  /** @type {string[]} */
  errors = []
  /** @type {string[]} */
  lost = []
  /** @type {Mirror | undefined} */
  mirror

  /** @param {string} back @param {string} front @param {string} target @param {number} count @param {'link' | 'hold'} overLimit */
  constructor(back, front, target, count, overLimit) {
    Object.assign(this, { back, front, target, count, overLimit })
    this.back = back
    this.front = front
    this.target = target
    this.count = count
    this.overLimit = overLimit
    this.others = Array.from({ length: count - 1 }, (_, n) => `other${n}`)
    for (const name of ['first', ...this.others]) fs.mkdirSync(join(back, name), { recursive: true })
    for (const name of this.others) lay(join(back, name), { keys: { [name]: 'other' } })
  }

  get sources() {
    return ['first', ...this.others].map((name) => join(this.front, name))
  }

  /** Makes the first source this, as its writer does who does not wait for readers. @param {Layout} layout */
  lay(layout) {
    lay(join(this.back, 'first'), layout)()
  }

  /** @param {string[]} [sources] @param {string} [target] */
  async start(sources = this.sources, target = this.target) {
    const started = await mirror(sources, target, {
      interval: 3_600_000,
      quiet: 1,
      limits: { files: FILES, bytes: BYTES },
      overLimit: this.overLimit,
    })
    this.errors = []
    started.on('error', (error) => this.errors.push(String(Object(error).code)))
    started.on('state', (state, reason) => state === 'source-lost' && this.lost.push(reason))
    this.mirror = started
    return started
  }

  /** Has the sources looked at until nothing that one of them waits for can come of another. */
  async refresh() {
    await this.mirror?.refresh()
    await this.mirror?.refresh()
  }

  /** The names in the target, but the mirror's own. */
  get names() {
    if (!fs.existsSync(this.target)) return []
    return fs.readdirSync(this.target).filter((name) => !name.startsWith('.'))
  }

  /** Asserts that a reader finds a layout in the target, and of other sources what they are. @param {Layout} layout @param {string} when */
  shows({ keys = {}, files = {} }, when) {
    const asked = { ...keys, ...files, ...Object.fromEntries(this.others.map((name) => [name, 'other'])) }
    const found = Object.fromEntries(this.names.map((name) => [name, read(join(this.target, name))]))
    assert.deepEqual(found, Object.fromEntries(Object.entries(asked).sort()), when)
  }
}

/**
 * A change to the target, and the errors that report the change. `isAsked`: ENODATA follows, since the pass needs what a held source cannot
 * give again. A target that is another begins with nothing.
 *
 * @typedef {{ move: (target: string) => void, errors: string[], isAsked?: boolean }} Move
 */

/** @param {string} path */
function read(path) {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    return String(/** @type {NodeJS.ErrnoException} */ (error).code)
  }
}

/** @param {Setting} at @param {Move} move @param {boolean} isOver */
async function moved(at, { move, errors, isAsked = false }, isOver) {
  at.lay(within('1'))
  const started = await at.start()
  if (isOver) {
    at.lay(beyond('1'))
    await at.refresh()
    at.shows(at.overLimit === 'link' ? beyond('1') : within('1'), 'over the limits')
  }
  move(at.target)
  await at.refresh()
  if (isOver && at.overLimit === 'hold') {
    for (let left = 10; left > 0 && isAsked && !at.errors.includes('ENODATA'); left--) await at.refresh()
    assert.deepEqual(at.errors, [...errors, ...(isAsked ? ['ENODATA'] : [])])
    if (errors.length > 0) assert.deepEqual(at.names, at.others)
  } else {
    assert.deepEqual(at.errors, errors)
    at.shows(isOver ? beyond('1') : within('1'), 'at the next pass')
  }
  at.lay(within('2'))
  await at.refresh()
  at.shows(within('2'), 'of the next version')
  assert.deepEqual(started.errors, [])
  await started.close()
  assert.deepEqual(at.names, [])
}

const clear = (/** @type {string} */ target) => {
  for (const name of fs.readdirSync(target)) fs.rmSync(join(target, name), { recursive: true })
}
const replaceByLink = (/** @type {string} */ target) => {
  fs.renameSync(target, `${target}.away`)
  fs.mkdirSync(`${target}.other`)
  fs.symlinkSync(`${target}.other`, target)
}
const coverData = (/** @type {string} */ target) => {
  fs.rmSync(join(target, '..data'))
  fs.mkdirSync(join(target, '..data'))
  fs.writeFileSync(join(target, '..data/theirs'), '')
}
const removeEach = (/** @type {string} */ target) => {
  for (const name of ['a', 'c', '..data']) fs.rmSync(join(target, name))
}

/** @type {Record<string, Move>} */
const MOVES = {
  'the target is removed': { move: (target) => fs.rmSync(target, { recursive: true }), errors: ['ESTALE'] },
  'the target is renamed': { move: (target) => fs.renameSync(target, `${target}.away`), errors: ['ESTALE'] },
  'the target is replaced by a link': { move: replaceByLink, errors: ['ESTALE'] },
  'the target is cleared': { move: clear, errors: ['ESTALE'] },
  "entries of the mirror's are removed": { move: removeEach, errors: [], isAsked: true },
  "a directory is at the target's ..data": { move: coverData, errors: [] },
}

/** @type {Record<string, (at: Setting) => Promise<void>>} */
const SITUATIONS = {
  'clean ends, then what is left of the sources': async (at) => {
    for (const layout of [
      within('1'),
      { files: { c: '2', 'sub/f': '2' } },
      beyond('3'),
      { keys: { a: '4' } },
    ]) {
      at.lay(layout)
      const started = await at.start()
      await started.close({ keep: true })
    }
    at.lay({ files: { only: '5' } })
    const started = await at.start()
    await started.close({ keep: true })
    at.shows({ files: { only: '5' } }, 'kept')
    const last = await at.start()
    await last.close()
    assert.deepEqual(at.names, [])
  },
  'a source that lacks something': async (at) => {
    at.lay(within('1'))
    const data = join(at.back, 'first/..data')
    const generation = fs.readlinkSync(data)
    fs.renameSync(join(at.back, 'first', generation), join(at.back, 'away'))
    const limits = ['--max-files', `${FILES}`, '--max-bytes', `${BYTES}`, '--over-limit', at.overLimit]
    // No look takes longer than that interval, which would be said.
    const once = [
      'mirror',
      '--once',
      '--interval',
      '3600000',
      '--quiet',
      '1',
      ...limits,
      ...at.sources,
      at.target,
    ]
    const lacking = await command(once)
    assert.equal(lacking.code, 1, lacking.said)
    assert.match(lacking.said, /incomplete: .*\.\.data: leads to \S+, which is not there\n$/)
    fs.renameSync(join(at.back, 'away'), join(at.back, 'first', generation))
    assert.deepEqual(await command(once), { code: 0, said: '' })
    at.shows(within('1'), 'mended')
    fs.rmSync(at.target, { recursive: true })
    at.lay(beyond('1'))
    const over = await command(once)
    assert.equal(over.code, 1, over.said)
    if (at.overLimit === 'link') at.shows(beyond('1'), 'over the limits')
    assert.match(over.said, /over-limit: /)
  },
  'a single file over the limits': async (at) => {
    const file = join(at.back, 'first/app.yaml')
    fs.writeFileSync(file, 'one')
    const [first = '', ...others] = at.sources
    const to = join(at.target, 'app.yaml')
    fs.mkdirSync(at.target)
    const isSole = others.length === 0
    const started = await at.start([join(first, 'app.yaml'), ...others], isSole ? to : at.target)
    fs.writeFileSync(file, 'x'.repeat(BYTES + 1))
    await at.refresh()
    assert.equal(started.state, 'over-limit')
    assert.equal(fs.lstatSync(to).isSymbolicLink(), at.overLimit === 'link')
    at.shows({ files: { 'app.yaml': at.overLimit === 'link' ? 'x'.repeat(BYTES + 1) : 'one' } }, 'over')
    fs.writeFileSync(file, 'two')
    await at.refresh()
    assert.ok(fs.lstatSync(to).isFile())
    at.shows({ files: { 'app.yaml': 'two' } }, 'within again')
    assert.deepEqual([at.errors, at.lost], [[], []])
    await started.close()
    assert.deepEqual(at.names, [])
  },
  "a flat source's directory ..data": async (at) => {
    at.lay({ files: { c: '1' } })
    const started = await at.start()
    const data = join(at.back, 'first/..data')
    fs.mkdirSync(data)
    fs.writeFileSync(join(data, 'key'), '1')
    await at.refresh()
    at.shows({ files: { c: '1' } }, 'beside it')
    assert.equal(read(join(at.target, '..data/key')), at.count === 1 ? '1' : 'ENOENT')
    assert.deepEqual(at.errors, at.count === 1 ? [] : ['EEXIST'])
    fs.rmSync(data, { recursive: true })
    await at.refresh()
    at.shows({ files: { c: '1' } }, 'without it')
    assert.deepEqual(started.errors, [])
    await started.close()
  },
}
for (const [name, move] of Object.entries(MOVES)) {
  SITUATIONS[name] = (at) => moved(at, move, false)
  SITUATIONS[`${name}, a source over the limits`] = (at) => moved(at, move, true)
}

/** @param {string[]} args */
async function command(args) {
  const child = spawn(process.execPath, [join(dist, 'cli.js'), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { code, said }
}

const [, , kind = '', which = '', base = ''] = process.argv
if (kind === '') {
  process.stdout.write(JSON.stringify(Object.keys(SITUATIONS)))
  process.exit()
}
if (spawnSync('mount', ['-t', 'tmpfs', 'none', base]).status !== 0) throw new Error('mount -t tmpfs failed')
fs.mkdirSync(join(base, 'back'))
const front = await mount(kind, join(base, 'back'), join(base, 'front'))
/** @type {Record<string, Record<string, string>>} */
const wrong = {}
for (const [n, [situation, play]] of Object.entries(SITUATIONS).entries()) {
  /** @type {Record<string, string>} */
  const here = {}
  for (const count of [1, 3]) {
    for (const overLimit of /** @type {const} */ (['link', 'hold'])) {
      const turn = 2 * Number(count === 3) + Number(overLimit === 'hold')
      if (which === 'some' && turn !== (n + (kind === 'FUSE' ? 3 : 0)) % 4) continue
      const name = `${count} sources, ${overLimit}`
      const [back, shown, target] = [join(base, 'back'), front, base].map((path) =>
        join(path, `${n} ${name}`),
      )
      const at = new Setting(back ?? '', shown ?? '', target ?? '', count, overLimit)
      await play(at).catch((error) => {
        here[name] = String(error.stack)
      })
      await at.mirror?.close().catch(() => {})
    }
  }
  wrong[situation] = here
}
process.stdout.write(JSON.stringify(wrong))
process.exit()
