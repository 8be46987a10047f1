import { debuglog } from 'node:util'
import type { InotifyError } from '../errors.ts'
import type { Entries } from './entries.ts'
import type { InotifySource } from './inotify_source.ts'
import type { Settings } from './options.ts'
import type { Root, RootSource } from './root.ts'
import type { WatchSystem } from './system.ts'
import { asWatchError, isLimit } from './watch_error.ts'

export interface Attachment {
  backend: Settings['backend']
  system: WatchSystem
  /** Opened when it is first needed. */
  inotify(): InotifySource
  /** A root is polled for want of a watch. */
  limited(error: InotifyError): void
}

const trace = debuglog('inotify-bridge')

/** Chooses a source for what is at the root's path now, watches it, and lists it. Rejects with InotifyError. */
export async function attach(
  root: Root,
  { backend, system, inotify, limited }: Attachment,
): Promise<Entries> {
  try {
    root.source = await choose(root.path, backend, system)
    try {
      return await root.attach((path) => {
        if (root.source.backend !== 'poll') inotify().attach(root, path)
      })
    } catch (error) {
      if (backend !== 'auto' || !isLimit(error)) throw error
      // No watch or no instance left: the root is polled, and the limit said.
      const limit = asWatchError(error, root.path) as InotifyError
      const why = `polled for want of a watch (${limit.code})`
      root.source = { backend: 'poll', why, uncovered: [{ path: root.path, error: limit }] }
      limited(limit)
      return await root.attach(() => {})
    }
  } catch (error) {
    // The watch may be there, and the listing have failed.
    if (root.wd !== undefined) inotify().detach(root)
    throw asWatchError(error, root.path)
  } finally {
    trace('%s: %s, because %s', root.path, root.source.backend, root.source.why)
  }
}

async function choose(path: string, backend: Settings['backend'], system: WatchSystem): Promise<RootSource> {
  const chosen = await system.choose(path)
  if (backend === 'auto') return { ...chosen, uncovered: [] }
  const why = `asked for, where ${chosen.backend} would have been chosen (${chosen.why})`
  return { backend, why, uncovered: [] }
}
