// A small imitation of the kubelet's AtomicWriter (pkg/volume/util/atomic_writer.go): what a ConfigMap or Secret volume does
// when its object changes, in the same order of system calls.
//
//   node examples/kubelet.mjs DIRECTORY app.yaml='replicas: 2' ...
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Makes `dir` show `files`, all of them at once.
 *
 * @param {string} dir an existing directory
 * @param {Record<string, string>} files content by relative path; keys do not begin with '..'
 * @returns {Promise<boolean>} whether anything had to be written
 */
export async function atomicWrite(dir, files) {
  const old = await orUndefined(readlink(join(dir, '..data')), 'ENOENT')
  if (old !== undefined && (await isSame(join(dir, old), files))) return false

  const timestamp = await mkdtemp(join(dir, `${timestampName(new Date())}.`))
  await chmod(timestamp, 0o755)
  for (const [key, text] of Object.entries(files)) {
    const path = join(timestamp, key)
    await mkdir(dirname(path), { recursive: true, mode: 0o755 })
    await writeFile(path, text, { mode: 0o644 })
    // The umask may have taken something from the mode.
    await chmod(path, 0o644)
  }

  await symlink(basename(timestamp), join(dir, '..data_tmp'))
  await rename(join(dir, '..data_tmp'), join(dir, '..data'))

  const visible = new Set(Object.keys(files).map((key) => firstComponent(key)))
  for (const name of visible) await orUndefined(symlink(join('..data', name), join(dir, name)), 'EEXIST')
  if (old === undefined) return true
  for (const name of await readdir(join(dir, old))) if (!visible.has(name)) await unlink(join(dir, name))
  await rm(join(dir, old), { recursive: true })
  return true
}

/**
 * Bytes alone are compared, as the kubelet does: a mode that differs is not written.
 *
 * @param {string} dir
 * @param {Record<string, string>} files
 */
async function isSame(dir, files) {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  if (entries.filter((entry) => entry.isFile()).length !== Object.keys(files).length) return false
  for (const [key, text] of Object.entries(files)) {
    if ((await orUndefined(readFile(join(dir, key), 'utf8'), 'ENOENT')) !== text) return false
  }
  return true
}

/** @param {Date} date */
function timestampName(date) {
  return `..${date.toISOString().slice(0, 19).replace(/[-T:]/g, '_')}`
}

/** @param {string} key */
function firstComponent(key) {
  return /** @type {string} */ (key.split('/')[0])
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {string} code the error that means "there is none" or "it is there already"
 * @returns {Promise<T | undefined>}
 */
async function orUndefined(promise, code) {
  try {
    return await promise
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === code) return undefined
    throw error
  }
}

if (import.meta.filename === process.argv[1]) {
  const [dir, ...assignments] = process.argv.slice(2)
  if (dir === undefined) throw new Error('usage: node examples/kubelet.mjs DIRECTORY KEY=TEXT...')
  await mkdir(dir, { recursive: true })
  const changed = await atomicWrite(dir, Object.fromEntries(assignments.map(splitAssignment)))
  console.log(changed ? 'written' : 'nothing to write')
}

/** @param {string} assignment */
function splitAssignment(assignment) {
  const at = assignment.indexOf('=')
  return [assignment.slice(0, at), assignment.slice(at + 1)]
}
