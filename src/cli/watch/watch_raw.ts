import { printable } from '../../errors.ts'
import type { InotifyEvent } from '../../inotify/batch.ts'
import { Inotify } from '../../inotify/inotify.ts'
import { formatMask } from '../../inotify/mask.ts'
import { Deadline } from '../shared/deadline.ts'
import { jsonLine, print, tell } from '../shared/output.ts'

/** The request of `watch --raw`. */
export interface RawRequest {
  paths: string[]
  mask: number
  json: boolean
  monitor: boolean
  quiet: number
  timeout: number | undefined
}

/** Prints the kernel's own events, as {@link watchChanges} prints changes. Returns the exit code. */
export async function watchRaw(request: RawRequest, signal: AbortSignal): Promise<number> {
  const { paths, mask, json, monitor, quiet, timeout } = request
  using inotify = new Inotify({ signal })
  const pathOf = new Map(paths.map((path) => [inotify.add(path, mask), path]))
  const line = (event: InotifyEvent) => {
    const [path, events] = [pathOf.get(event.wd) ?? '', formatMask(event.mask)]
    if (json) return jsonLine({ ...event, events, path })
    return printable(`${path} wd=${event.wd} ${events} cookie=${event.cookie} ${event.name}`).concat('\n')
  }
  function* lines(batch: Iterable<InotifyEvent>): Iterable<string> {
    for (const event of batch) yield line(event)
  }

  if (quiet === 0) tell('watch', `Watches established: ${pathOf.size}`, 'info')
  const deadline = new Deadline(timeout, () => inotify.close())
  deadline.restart()
  for await (const batch of inotify) {
    deadline.stop()
    if (quiet < 2) await print(lines(batch), signal)
    if (!monitor) return 0
    deadline.restart()
  }
  if (deadline.expired) tell('watch', `no event within ${timeout} s`)
  return deadline.expired ? 1 : 0
}
