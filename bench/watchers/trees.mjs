// The ways to watch a tree, each as its users have it.
import { once } from 'node:events'

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
  } else {
    const { watch } = await import('chokidar')
    const tree = watch(directory, { ignoreInitial: true })
    tree.on('add', onNew)
    await once(tree, 'ready')
  }
}
