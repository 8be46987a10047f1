// The package's functions of this folder. Arguments are checked before any await, and the work is loaded later.
import { loadPart } from '../load_part.ts'
import { bytesOf, type Data, modeOf, NEW_FILE_MODE, pathOf } from './arguments.ts'
import { readKeys } from './directory/keys.ts'

/**
 * Replaces the content of a file, or makes a new one. Watchers of its directory see one IN_MOVED_TO of its name, and readers the
 * old content or the new one: `data` (a string as UTF-8) is written beside the file; then fsync(2), rename(2), fsync(2) of the directory.
 *
 * A symlink at the end of `path` is followed and stays; a dangling one has its file made. Owner, group and permissions are kept, but for set-user-ID and set-group-ID, which write(2) clears as well;
 * ACLs and extended attributes are not, and other hard links keep the old content. Leftovers of a killed call in the directory are removed.
 *
 * @param options.mode permission bits instead of those of the file; of a new file instead of 0644, whatever the umask
 * @throws TypeError: a wrong argument
 * @throws InotifyError: and leaves everything as it was. EISDIR: the path is a directory's, or ends in `/`, `.` or `..`. EINVAL: a FIFO, socket or device. EBUSY: a single file is
 *   mounted there (subPath, `docker -v file:file`); mount the directory. EPERM, EINVAL (`chown`): the owner cannot be kept. EACCES: also for another user's symlink, or file in a sticky directory, where others
 *   may write (proc(5), protected_symlinks). ENOSPC, EROFS, ENOENT ...: as the system calls fail. EIO (`fsync`) of the directory: the new content is in place, and may not last
 * @throws AddonLoadError: there is no addon for this platform
 *
 * @example
 * ```js
 * import { mkdtemp, readFile, rm } from 'node:fs/promises'
 * import { replaceFile } from 'inotify-bridge'
 *
 * const directory = await mkdtemp('/tmp/example-')
 * await replaceFile(`${directory}/app.yaml`, 'color: red\n', { mode: 0o640 })
 * await replaceFile(`${directory}/app.yaml`, 'color: green\n') // still 0640
 * console.log(await readFile(`${directory}/app.yaml`, 'utf8'))
 * await rm(directory, { recursive: true })
 * ```
 */
export async function replaceFile(path: string, data: Data, options: { mode?: number } = {}): Promise<void> {
  const replacement = { data: bytesOf('data', data), mode: modeOf(options), newMode: NEW_FILE_MODE }
  const file = pathOf('path', path)
  const { replaceFileAs } = await loadPart(() => import('./replace_file.ts'))
  await replaceFileAs(file, replacement)
}

/**
 * Moves a file. Watchers of the destination's directory see one IN_MOVED_TO of its name, whichever mounts the two are on. On one
 * mount that is rename(2). Across mounts, two bind mounts of one filesystem included, rename(2) fails with EXDEV: then a complete copy is made beside the
 * destination and renamed to it, and the source is removed last, if it is still the file that was copied.
 *
 * As mv(1): an entry at the destination is replaced, a symlink too; a symlink as the source is moved itself. `to` is the new path of the file, not a directory to put it in.
 * Owner, mode and times are kept; a copy loses hard links, ACLs, extended attributes, set-id bits and holes.
 *
 * @returns whether the file was copied, as it must be across mounts
 * @throws TypeError: a wrong argument
 * @throws InotifyError: and leaves everything as it was. EISDIR: a directory. EINVAL: a FIFO, socket or device. EBUSY: a single file is mounted there, or the source changed each of five
 *   times that it was copied. EPERM, EINVAL (`chown`): the owner cannot be kept. ENOENT, ENOSPC, EROFS, EACCES ...: as the system calls fail. With `path` the source, and the hint that it has been
 *   copied: it could not be removed (EACCES, EPERM, EROFS), or has changed since (EBUSY, `unlink`), and is still there
 * @throws AddonLoadError: there is no addon for this platform
 *
 * @example
 * ```js
 * import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
 * import { moveFile } from 'inotify-bridge'
 *
 * const [draft, published] = [await mkdtemp('/dev/shm/example-'), await mkdtemp('/tmp/example-')]
 * await writeFile(`${draft}/app.yaml`, 'color: green\n')
 * console.log(await moveFile(`${draft}/app.yaml`, `${published}/app.yaml`)) // { crossedMounts: true }
 * console.log(await readFile(`${published}/app.yaml`, 'utf8'))
 * for (const directory of [draft, published]) await rm(directory, { recursive: true })
 * ```
 */
export async function moveFile(from: string, to: string): Promise<{ crossedMounts: boolean }> {
  const [source, target] = [pathOf('from', from), pathOf('to', to)]
  const { moveBetween } = await loadPart(() => import('./move_file.ts'))
  return await moveBetween(source, target)
}

/**
 * Publishes files together, in the layout of the kubelet's AtomicWriter (a ConfigMap volume): `key` links to `..data/key`, and `..data` to a version directory
 * `..2026_01_31_12_00_00.1234567890`. One rename of `..data` is the update: readers see all old or all new, and watchers one IN_MOVED_TO of `..data`.
 *
 * Nothing is written if bytes and keys are the same as before; a mode alone is not compared, as by the kubelet. Leftovers of a killed call are removed. Calls about one directory, of other processes
 * too, wait for each other by flock(2): after 5 s a process warning says so (INOTIFY_BRIDGE_LOCKED), after 30 s it is EBUSY. A file or a symlink
 * in a key's way is replaced; other entries of the directory are left alone. Where others may rename in the directory, version directories carry a sticky bit (1755) as their mark, and only
 * marked ones of the effective user are removed.
 *
 * @param directory made if it is missing; its parent must exist
 * @param files the contents by their keys, relative paths; of `a/b` the link is `a`. Keys that are not given any more are removed
 * @param options.mode of each file; 0644, whatever the umask. Directories get what it takes to reach them: 0755 for 0644, 0700 for 0600
 * @returns whether readers find something else than before
 * @throws TypeError: a wrong argument; a key such as `../x`, `/x`, `a//b`, `./a`, one that begins with `..`, or one that is another's directory
 * @throws InotifyError: EISDIR: a directory is in a key's way. EEXIST: `..data` is no symlink. EACCES: in a sticky directory others laid `..data`, its version, a key, or the directory's own
 *   symlink (`path` says which). EBUSY: (`flock`) the lock was held for 30 s, (`mkdir`) somebody exchanged the version directory. EFBIG: more than 65,536 entries. ENOSPC, EROFS ...: as the
 *   system calls fail. Before `..data` was renamed the version before is in place, after it the new one, and the next call does the rest
 * @throws AddonLoadError: there is no addon for this platform
 *
 * @example
 * ```js
 * import { mkdtemp, readFile, rm } from 'node:fs/promises'
 * import { publishDirectory } from 'inotify-bridge'
 *
 * const directory = await mkdtemp('/tmp/example-')
 * const files = { 'app.yaml': 'color: green\n', 'users/admin.yaml': 'name: root\n' }
 * console.log(await publishDirectory(directory, files)) // { changed: true }
 * console.log(await publishDirectory(directory, files)) // { changed: false }
 * console.log(await readFile(`${directory}/users/admin.yaml`, 'utf8'))
 * await rm(directory, { recursive: true })
 * ```
 */
export async function publishDirectory(
  directory: string,
  files: Readonly<Record<string, string | Uint8Array>>,
  options: { mode?: number } = {},
): Promise<{ changed: boolean }> {
  const path = pathOf('directory', directory)
  const keys = readKeys(files, modeOf(options) ?? NEW_FILE_MODE)
  const { publishKeys } = await loadPart(() => import('./publish_directory.ts'))
  return await publishKeys(path, keys)
}
