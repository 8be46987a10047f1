import { atOnce } from './at_once.ts'
import { codeOf } from './call_error.ts'
import { AT_REMOVEDIR } from './calls.ts'
import type { HeldDirectory } from './held.ts'

/** Removes an entry and all beneath it; symlinks are removed, not followed. It need not exist. */
export async function removeTree(parent: HeldDirectory, name: string): Promise<void> {
  try {
    await parent.calls.unlink(parent.at(name))
    return
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return
    // unlink(2) of a directory: EISDIR on Linux, EPERM by POSIX.
    if (!['EISDIR', 'EPERM'].includes(codeOf(error))) throw error
  }
  {
    await using held = await parent.directory(name)
    await atOnce(await held.names(), (child) => removeTree(held, child.toString()))
  }
  await parent.calls.unlink(parent.at(name), AT_REMOVEDIR)
}
