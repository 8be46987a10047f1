// What the package has of this room. The arguments are checked before anything is awaited; the work is loaded when there is some.
import { loadPart } from '../load_part.ts'
import { bytesOf, type Data, modeOf, NEW_FILE_MODE, pathOf } from './arguments.ts'
import { readKeys } from './directory/keys.ts'

/**
 * Replaces what a file holds, or makes a new one, so that watchers of its directory see one IN_MOVED_TO of its name and readers the
 * old content or the new one: written beside it, fsync(2), rename(2), fsync(2) of the directory.
 *
 * A symlink is followed and stays. Owner and permissions are kept, but for set-user-ID and set-group-ID, which write(2) clears as well;
 * ACLs and extended attributes are not, and other hard links keep the old content. What a killed call left in the directory is removed.
 *
 * @param options.mode instead of the mode that the file has; of a new file 0644, whatever the umask
 * @throws TypeError for a wrong argument
 * @throws InotifyError and leaves everything as it was: EISDIR; EINVAL for what is no regular file; EBUSY where a single file is
 *   mounted; EPERM if the owner cannot be kept; ENOSPC, EROFS, EACCES, ENOENT ... as open(2), write(2) and rename(2) fail. EIO from
 *   fsync(2) of the directory: the new content is in place, and may not last
 */
export async function replaceFile(path: string, data: Data, options: { mode?: number } = {}): Promise<void> {
  const replacement = { data: bytesOf('data', data), mode: modeOf(options), newMode: NEW_FILE_MODE }
  const file = pathOf('path', path)
  const { replaceFileAs } = await loadPart(() => import('./replace_file.ts'))
  await replaceFileAs(file, replacement)
}

/**
 * Moves a file so that watchers of the destination's directory see one IN_MOVED_TO of its name, whichever mounts the two are on. On one
 * mount by rename(2). Across mounts, two bind mounts of one file system included, that is EXDEV: then by a complete copy beside the
 * destination, fsync(2) and rename(2), and the source is removed last, if it is still what was copied.
 *
 * As mv(1) does it: what is at the destination is replaced, a symlink there too; a symlink as the source is moved, not what it leads to.
 * Owner, mode and times are kept; across mounts hard links, ACLs, extended attributes and holes are not.
 *
 * @returns whether it was copied, as it must be across mounts
 * @throws TypeError for a wrong argument
 * @throws InotifyError and leaves everything as it was: EISDIR for directories; EINVAL for a FIFO, socket or device; EBUSY where a
 *   single file is mounted, or if the source does not stop changing; EPERM if the owner cannot be kept, or if the source could not be
 *   removed; ENOENT, ENOSPC, EROFS, EACCES ... as the system calls fail. EBUSY or another with `path` the source, and the hint that it
 *   has been copied: it could not be removed, or has changed since, and is there still
 */
export async function moveFile(from: string, to: string): Promise<{ crossedMounts: boolean }> {
  const [source, target] = [pathOf('from', from), pathOf('to', to)]
  const { moveBetween } = await loadPart(() => import('./move_file.ts'))
  return await moveBetween(source, target)
}

/**
 * Publishes files together, in the layout of the kubelet's AtomicWriter: `key` leads to `..data/key`, and `..data` to a directory with
 * this version of all of them. Readers see all old or all new, and watchers of the directory one IN_MOVED_TO of `..data`.
 *
 * Where bytes and keys are those that are there, nothing is written; a mode alone is not looked at, by the kubelet neither. What a
 * killed call has left is removed. Two calls about one directory wait for each other, for up to 30 s: flock(2) of it. A file or a symlink
 * that is in a key's way is replaced, when the new version is in place; other entries of the directory are left alone.
 *
 * @param directory is made if it is missing; its parent must exist
 * @param files the contents by their keys, relative paths: of `a/b` the link is `a`. Keys that are not among them any more go
 * @param options.mode of each file; 0644, whatever the umask
 * @returns whether readers find something else than before
 * @throws TypeError for a wrong argument, `../x`, `/x` and a name that begins with `..` among them
 * @throws InotifyError: EISDIR if a directory is in a key's way, EEXIST if `..data` is no symlink, EBUSY if
 *   somebody else does not give the lock back, and ENOSPC, EROFS, EACCES ... as the
 *   system calls fail; the version before is in place then. If a link of a key could not be made or removed, or the version before not
 *   be removed, the new one is in place and the next call does the rest
 */
export async function publishDirectory(
  directory: string,
  files: Readonly<Record<string, Data>>,
  options: { mode?: number } = {},
): Promise<{ changed: boolean }> {
  const path = pathOf('directory', directory)
  const keys = readKeys(files, modeOf(options) ?? NEW_FILE_MODE)
  const { publishKeys } = await loadPart(() => import('./publish_directory.ts'))
  return await publishKeys(path, keys)
}
