// Sources that go from one layout to another as those do whose writers know that they are being read.
import fs from 'node:fs'
import { dirname, join } from 'node:path'

/** @typedef {{ keys?: Record<string, string>, files?: Record<string, string> }} Layout */

/** The n-th version of what a file holds. @param {number} n */
export const version = (n) => String.fromCharCode(65 + (n % 26)).repeat(8192)

/**
 * Makes `directory` have these keys, as a ConfigMap has them, and files, in an order by which no name of both layouts is ever missing
 * in it, but one that becomes a directory, or was one. Returns what removes the generation before: a reader may be on his way through it.
 *
 * @param {string} directory
 * @param {Layout} layout
 */
export function lay(directory, { keys = {}, files = {} }) {
  const data = join(directory, '..data')
  const old = fs.lstatSync(data, { throwIfNoEntry: false }) && join(directory, fs.readlinkSync(data))
  const generation = Object.keys(keys).length === 0 ? undefined : fs.mkdtempSync(join(directory, '..2026_'))
  for (const [key, content] of Object.entries(keys)) write(join(generation ?? '', key), content)
  for (const [path, content] of Object.entries(files)) put(directory, path, content)
  if (generation === undefined) {
    fs.rmSync(data, { force: true })
  } else {
    fs.symlinkSync(generation.slice(directory.length + 1), join(directory, '..data_tmp'))
    fs.renameSync(join(directory, '..data_tmp'), data)
  }
  const first = (/** @type {Record<string, string>} */ paths) =>
    new Set(Object.keys(paths).map((path) => path.replace(/\/.*/, '')))
  for (const name of first(keys)) link(directory, name)
  const kept = first({ ...keys, ...files })
  for (const name of fs.readdirSync(directory))
    if (!name.startsWith('..') && !kept.has(name)) fs.rmSync(join(directory, name), { recursive: true })
  const removeOld = () => old !== undefined && fs.rmSync(old, { recursive: true })
  // Beside no other it would be a directory like any.
  if (generation === undefined) removeOld()
  return generation === undefined ? () => {} : removeOld
}

/** @param {string} path @param {string} content */
function write(path, content) {
  fs.mkdirSync(dirname(path), { recursive: true })
  fs.writeFileSync(path, content)
}

/** Replaces what is at the path, which may be a key. @param {string} directory @param {string} path @param {string} content */
function put(directory, path, content) {
  const above = join(directory, dirname(path))
  if (fs.lstatSync(above, { throwIfNoEntry: false })?.isSymbolicLink()) fs.unlinkSync(above)
  write(join(directory, '..new'), content)
  fs.mkdirSync(above, { recursive: true })
  fs.renameSync(join(directory, '..new'), join(directory, path))
}

/** Makes a key's link in place of what has its name. @param {string} directory @param {string} name */
function link(directory, name) {
  const path = join(directory, name)
  if (fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) fs.rmSync(path, { recursive: true })
  fs.symlinkSync(`..data/${name}`, join(directory, '..link'))
  fs.renameSync(join(directory, '..link'), path)
}
