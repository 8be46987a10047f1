import type { DirectoryHandle } from '../mounts/syscalls/directory_handle.ts'
import { NEW_FILE_MODE } from './arguments.ts'
import { Place } from './draft/place.ts'
import { about } from './failure.ts'
import { replaceAt } from './replace_file.ts'

/**
 * The same each time, so that a thousand touches leave one file, and who wants to can tell this event from others. It stays: a poll,
 * and so a mirror of the directory on the other side of a silent mount, sees that it has changed.
 */
export const TOUCHED_NAME = '.inotify-bridge.touch'

/**
 * Makes an IN_MOVED_TO in a directory. Envoy's `watched_directory` reads its files again at any move in that directory, whatever the
 * name (and at nothing else), wherever the files themselves are.
 */
export async function touchDirectory(directory: DirectoryHandle, shown: string): Promise<void> {
  const path = `${shown}/${TOUCHED_NAME}`
  // Never twice the same, or a mirror would have nothing to carry on.
  const data = Buffer.from(`${new Date().toISOString()} ${process.hrtime.bigint()}\n`)
  const replacement = { data, mode: NEW_FILE_MODE, newMode: NEW_FILE_MODE, isOwn: true } as const
  await about(path, replaceAt(new Place(directory, TOUCHED_NAME, path), replacement))
}
