import { printable } from '../../errors.ts'
import type { InotifyEvent } from '../../inotify/batch.ts'
import { Inotify } from '../../inotify/inotify.ts'
import { formatMask } from '../../inotify/mask.ts'
import { deadline } from '../shared/deadline.ts'
import { jsonLine, print, printsObjects, tell } from '../shared/output.ts'
import type { WatchArguments } from './watch_options.ts'

/** Prints the kernel's own events, as {@link watchChanges} prints changes. Returns the exit code. */
export async function watchRaw(settings: WatchArguments, signal: AbortSignal): Promise<number> {
  const { paths, mask, monitor, quiet, timeout } = settings
  using inotify = new Inotify({ signal })
  const pathOf = new Map(paths.map((path) => [inotify.add(path, mask), path]))
  function* lines(batch: Iterable<InotifyEvent>): Iterable<string> {
    for (const event of batch) {
      const [path, events] = [pathOf.get(event.wd) ?? '', formatMask(event.mask)]
      if (printsObjects()) yield jsonLine({ ...event, events, path })
      else yield `${printable(`${path} wd=${event.wd} ${events} cookie=${event.cookie} ${event.name}`)}\n`
    }
  }

  if (quiet === 0) tell(`Watches established: ${pathOf.size}`, 'info')
  const wait = deadline(timeout, 'event', () => inotify.close())
  wait.restart()
  for await (const batch of inotify) {
    wait.stop()
    if (quiet < 2) await print(lines(batch), signal)
    if (!monitor) return 0
    wait.restart()
  }
  return wait.end()
}
