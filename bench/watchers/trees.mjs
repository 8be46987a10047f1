// The ways to watch a tree, each as its users have it.
import { once } from 'node:events'
import { watch as fsWatch, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/**
 * Resolves when it is watched.
 * @param {string} watcher
 * @param {string} directory
 * @param {(path: string) => void} onNew
 */
export async function watchTree(watcher, directory, onNew) {
  if (watcher === 'inotify-bridge') {
    const { watch } = await import('inotify-bridge/watch')
    const tree = watch(directory, { recursive: true })
    tree.on('changes', (changes) => {
      for (const change of changes) if (change.type === 'create') onNew(change.path)
    })
    await tree.ready
  } else if (watcher === 'Inotify') {
    // Of the directory alone.
    const { Inotify, ...IN } = await import('inotify-bridge/inotify')
    const inotify = new Inotify()
    // What watch() asks for.
    const writes = IN.IN_MODIFY | IN.IN_CLOSE_WRITE | IN.IN_ATTRIB
    inotify.add(directory, IN.IN_CREATE | IN.IN_DELETE | IN.IN_MOVE | writes)
    inotify.on('events', (batch) => {
      for (let i = 0; i < batch.length; i++) if (batch.mask(i) & IN.IN_CREATE) onNew(batch.name(i))
    })
  } else if (watcher === '@parcel/watcher') {
    const { subscribe } = await import('@parcel/watcher')
    const options = /** @type {const} */ ({ backend: 'inotify' })
    await subscribe(
      directory,
      (error, events) => {
        if (error) throw error
        for (const { type, path } of events) if (type === 'create') onNew(path)
      },
      options,
    )
  } else if (watcher === 'fs.watch') {
    // Node watches all there is before it returns, each file by itself. It tells neither what happened nor when it has lost events.
    fsWatch(directory, { recursive: true }, (_, name) => onNew(name ?? ''))
  } else if (watcher === 'watchpack') {
    const { default: Watchpack } = await import('watchpack')
    const tree = new Watchpack()
    tree.on('change', onNew)
    tree.watch({ directories: [directory] })
    // Nothing says when it has begun: until it tells of something.
    let hasBegun = false
    tree.once('change', () => {
      hasBegun = true
    })
    while (!hasBegun) {
      writeFileSync(join(directory, 'is-it-watched'), '')
      await setTimeout(10)
      rmSync(join(directory, 'is-it-watched'))
    }
  } else {
    // chokidar's interface, by chokidar or not.
    const { watch } = await import(watcher)
    const tree = watch(directory, { ignoreInitial: true })
    tree.on('add', onNew)
    await once(tree, 'ready')
  }
}
