// The ways to watch a tree, each as its users have it.
import { once } from 'node:events'
import { watch as fsWatch, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/**
 * Resolves when the tree is watched.
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
    // Watches the directory alone.
    const { Inotify, ...IN } = await import('inotify-bridge/inotify')
    const inotify = new Inotify()
    // The mask of watch().
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
    // Node watches all entries before fs.watch() returns, each file by itself. It tells neither the kind of a
    // change nor that events were lost.
    fsWatch(directory, { recursive: true }, (_, name) => onNew(name ?? ''))
  } else if (watcher === 'watchpack') {
    const { default: Watchpack } = await import('watchpack')
    const tree = new Watchpack()
    tree.on('change', onNew)
    tree.watch({ directories: [directory] })
    // Watchpack does not tell when it has begun, so this writes until a change comes.
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
    // chokidar's interface, from chokidar or from inotify-bridge/chokidar.
    const { watch } = await import(watcher)
    const tree = watch(directory, { ignoreInitial: true })
    tree.on('add', onNew)
    await once(tree, 'ready')
  }
}
