import { leavesAtOnce } from '../mounts/at_once.ts'
import { codeOf } from '../mounts/call_error.ts'
import type { HeldDirectory } from '../mounts/held.ts'
import { removeTree } from '../mounts/remove_tree.ts'
import { syncDirectory, syncFile, writeAll } from './durable.ts'
import type { Keys } from './keys.ts'
import { versionName } from './layout.ts'

const CHUNK = 1024 * 1024

/** Makes a directory with all of the keys in it, on the disk, and returns its name; what cannot be completed is removed. */
export async function writeVersion(directory: HeldDirectory, keys: Keys, mode: number): Promise<string> {
  const name = await makeVersion(directory)
  try {
    await fill(directory, name, keys, mode)
    return name
  } catch (error) {
    await removeTree(directory, name).catch(() => {})
    throw error
  }
}

/** Whether a version directory has these keys with this content, and nothing else. What cannot be read is to be written anew. */
export async function holdsKeys(directory: HeldDirectory, name: string, keys: Keys): Promise<boolean> {
  try {
    await using version = await directory.directory(name)
    return await holds(version, keys)
  } catch {
    return false
  }
}

async function makeVersion(directory: HeldDirectory): Promise<string> {
  for (;;) {
    const name = versionName()
    try {
      await directory.calls.mkdir(directory.at(name), 0o700)
      return name
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  }
}

/** Modes are set by chmod(2): the umask is none of who reads. */
async function fill(parent: HeldDirectory, name: string, keys: Keys, mode: number): Promise<void> {
  await using directory = await parent.directory(name)
  const { calls } = directory
  await calls.chmod(directory.fd, 0o755)
  await leavesAtOnce(keys.entries, async (child, key) => {
    if (key.kind === 'file') return await writeKey(directory, child, key.data, mode)
    await calls.mkdir(directory.at(child), 0o700)
    await fill(directory, child, key, mode)
  })
  await syncDirectory(directory)
}

async function writeKey(directory: HeldDirectory, name: string, data: Buffer, mode: number): Promise<void> {
  await using file = await directory.create(name, 0o600)
  await writeAll(file, data)
  await file.calls.chmod(file.fd, mode)
  await syncFile(file.calls, file.fd)
}

async function holds(directory: HeldDirectory, keys: Keys): Promise<boolean> {
  const names = await directory.names(keys.entries.size + 1)
  if (names.length !== keys.entries.size) return false
  for (const [name, key] of keys.entries) {
    if (key.kind === 'directory') {
      await using below = await directory.directory(name)
      if (!(await holds(below, key))) return false
    } else if (!(await holdsData(directory, name, key.data))) return false
  }
  return true
}

async function holdsData(directory: HeldDirectory, name: string, data: Buffer): Promise<boolean> {
  await using file = await directory.file(name)
  if (file.opened.size !== BigInt(data.length)) return false
  for (let at = 0; ; ) {
    const chunk = await file.calls.read(file.fd, CHUNK)
    if (chunk.length === 0) return at === data.length
    if (!chunk.equals(data.subarray(at, at + chunk.length))) return false
    at += chunk.length
  }
}

/** Removes an entry that is, or may be, a leftover of the layout; not what somebody else has put at its name. */
export async function removeVersion(directory: HeldDirectory, name: string): Promise<void> {
  if ((await directory.lstat(name)).isDirectory()) await removeTree(directory, name)
}
