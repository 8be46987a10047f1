// Attacks of others on a mirror's target.
import fs from 'node:fs'
import { basename, join } from 'node:path'
import { isWithin, namesIn } from './look.mjs'

/** @typedef {import('./random.mjs').Choice} Choice */

/** Names that an attack makes begin so: what a mirror put there lies under another name now. */
export const STOLEN = 'stolen-'

/** The mirror may put something there again meanwhile: ENOTEMPTY. */
const PATIENTLY = { recursive: true, maxRetries: 100, retryDelay: 1 }

let serial = 0

/**
 * Does something to an entry of the mirror's.
 *
 * @param {string} target
 * @param {string} path of a file or directory that the sources have
 * @param {string} another such a path
 * @param {boolean} isSole a directory there would not be the target of a single file any more
 * @param {Choice} choice
 * @returns {string} what, '' if nothing
 */
export function attackEntry(target, path, another, isSole, choice) {
  const at = join(target, path)
  const what = choice.of([
    'remove',
    'rename',
    'file',
    isSole ? 'link' : 'directory',
    'link',
    'edit',
    'exchange',
  ])
  if (what === 'edit') return editFile(target, path, choice)
  if (!namesIn(join(at, '..')).includes(basename(at))) return ''
  // The names in a directory that a link leads to are the source's own, or a generation's.
  if (!isWithin(target, join(at, '..'))) return ''
  if (what === 'rename') {
    const to = `${STOLEN}${++serial}`
    fs.renameSync(at, join(target, to))
    return `${JSON.stringify(path)} is renamed to ${to}`
  }
  if (what === 'exchange') {
    const other = join(target, another)
    const isApart = !`${another}/`.startsWith(`${path}/`) && !`${path}/`.startsWith(`${another}/`)
    if (!isApart || !isWithin(target, join(other, '..')) || !fs.existsSync(other)) return ''
    const between = join(target, `${STOLEN}${++serial}`)
    fs.renameSync(at, between)
    const done = `${JSON.stringify(path)} and ${JSON.stringify(another)} change places`
    try {
      fs.renameSync(other, at)
      fs.renameSync(between, other)
    } catch (error) {
      // The mirror goes on meanwhile, on a thread of its own: what was there a moment ago is another, or gone.
      return `${done}, as far as that can be done: ${error}`
    }
    return done
  }
  fs.rmSync(at, PATIENTLY)
  if (what === 'file') fs.writeFileSync(at, 'an intruder')
  if (what === 'link') fs.symlinkSync('/nowhere', at)
  if (what === 'directory') {
    fs.mkdirSync(at)
    fs.writeFileSync(join(at, 'intruder'), 'an intruder')
  }
  return `${JSON.stringify(path)} is removed${what === 'remove' ? '' : `, and a ${what} is there`}`
}

/** @param {string} target @param {string} path @param {Choice} choice */
function editFile(target, path, choice) {
  const at = join(target, path)
  if (!namesIn(join(at, '..')).includes(basename(at))) return ''
  const stat = fs.statSync(at, { throwIfNoEntry: false })
  // A link of over-limit mode leads to the source's file, which is not to be touched.
  if (!stat?.isFile() || stat.size === 0 || !isWithin(target, at)) return ''
  const how = choice.of(['longer', 'shorter', 'another byte, with the times put back'])
  if (how === 'longer') fs.appendFileSync(at, 'an intruder')
  else if (how === 'shorter') fs.truncateSync(at, stat.size - 1)
  else {
    const fd = fs.openSync(at, 'r+')
    fs.writeSync(fd, '!', stat.size >> 1)
    fs.futimesSync(fd, stat.atime, stat.mtime)
    fs.closeSync(fd)
  }
  return `${JSON.stringify(path)} is edited: ${how}`
}

/** Does something to `..data` or what it leads to. @param {string} target @param {Choice} choice */
export function attackLayout(target, choice) {
  const data = join(target, '..data')
  const stat = fs.lstatSync(data, { throwIfNoEntry: false })
  if (!stat?.isSymbolicLink()) return ''
  const generation = join(target, fs.readlinkSync(data))
  // One of over-limit mode leads into the source.
  if (!isWithin(target, generation)) return ''
  const what = choice.of([
    'link removed',
    'link elsewhere',
    'directory in its place',
    'keys removed',
    'keys renamed',
  ])
  if (what === 'keys removed') fs.rmSync(generation, PATIENTLY)
  else if (what === 'keys renamed') fs.renameSync(generation, join(target, `${STOLEN}${++serial}`))
  else {
    fs.unlinkSync(data)
    if (what === 'link elsewhere') fs.symlinkSync('nowhere', data)
    if (what === 'directory in its place') {
      fs.mkdirSync(data)
      fs.writeFileSync(join(data, 'intruder'), 'an intruder')
    }
  }
  return `..data: ${what}`
}

/** Does something to the target's directory. @param {string} target @param {Choice} choice */
export function attackDirectory(target, choice) {
  const what = choice.of(['removed', 'renamed away', 'renamed away, and another is there'])
  if (what === 'removed') fs.rmSync(target, PATIENTLY)
  else fs.renameSync(target, `${target}.${STOLEN}${++serial}`)
  if (what === 'renamed away, and another is there') fs.mkdirSync(target)
  return `the target is ${what}`
}
