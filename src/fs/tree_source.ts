import { join, relative } from 'node:path'
import type { Change } from '../watch/report/change.ts'
import { Watcher } from '../watch/watcher.ts'
import type { ChangeSource, ChangeType, OnChange, OnError } from './fs_watcher.ts'

export interface TreeOptions {
  isRecursive: boolean
  /** What lies in the directory itself is told otherwise. */
  isBelowOnly: boolean
  /** Of paths relative to the directory. */
  isIgnored: ((filename: string) => boolean) | undefined
}

export interface TreeSource extends ChangeSource {
  /** Something has come right in the directory, which is told otherwise: what is in it is told as soon as all is watched. */
  noteMade(name: Buffer): void
}

/** By watch(): a whole tree, or what lies on a mount that does not deliver all events, which is polled. */
export function watchTree(
  path: string,
  name: Buffer,
  { isRecursive, isBelowOnly, isIgnored }: TreeOptions,
  onChange: OnChange,
  onError: OnError,
): TreeSource {
  const ignore = isIgnored && ((each: string) => isIgnored(relative(path, each)))
  const options = { recursive: isRecursive, encoding: 'buffer', ...(ignore && { ignore }) } as const
  const watcher = new Watcher<Buffer>(path, options)
  let made: Set<string> | undefined = new Set()
  const prefix = Buffer.byteLength(path === '/' ? '/' : `${path}/`)
  watcher.on('changes', (changes) => {
    for (const change of changes)
      for (const [type, at] of eventsOf(change)) {
        const isBelow = at.length > prefix && at.includes('/', prefix)
        if (isBelow || !isBelowOnly) onChange(type, at.length < prefix ? name : at.subarray(prefix))
      }
  })
  // What cannot be watched is polled. But one that has closed of itself, as it does where events can no longer be read, says last why.
  let last: Error | undefined
  watcher.on('error', (error) => {
    last = error
  })
  watcher.on('close', () => last && onError(last))
  watcher.ready.then(() => {
    // Those that were made since watch() has returned, all that is in them is new.
    for (const each of made ?? [])
      for (const { path: below } of watcher.entries(join(path, each)))
        if (below.includes('/', prefix)) onChange('rename', below.subarray(prefix))
    made = undefined
  }, onError)
  return {
    noteMade: (each) => void made?.add(each.toString()),
    ref: () => watcher.ref(),
    unref: () => watcher.unref(),
    close: () => void watcher.close(),
  }
}

/** What changes are to fs.watch(): 'change' is of what a name holds, 'rename' of the name. What differs after an overflow is told. */
function* eventsOf(change: Change<Buffer>): Generator<[type: ChangeType, path: Buffer]> {
  const { type, path } = change
  if (type === 'modify' || type === 'attrib') yield ['change', path]
  else if (type !== 'overflow' && type !== 'recovered') {
    if (type === 'rename') yield ['rename', change.from]
    yield ['rename', path]
    if (type === 'exchange') yield ['rename', change.other]
  }
}
