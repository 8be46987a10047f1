// Vite has its chokidar in its bundle, where no override reaches it. But its watcher can be turned off: what stands for it then is an EventEmitter that Vite
// listens to all the same, and that is given the events of inotify-bridge/chokidar.
import { join } from 'node:path'
import { watch } from '../../dist/chokidar.js'

/**
 * @typedef {import('node:events').EventEmitter} EventEmitter
 * @typedef {{ root: string, logger: { error: (text: string) => void } }} Config
 * @typedef {{ config: Config, watcher: EventEmitter, httpServer: EventEmitter | null }} Server
 */

const inotifyBridge = {
  name: 'inotify-bridge',
  /** @param {Server} server */
  configureServer({ config, watcher, httpServer }) {
    const ignored = ['.git', 'node_modules'].map((name) => join(config.root, name))
    const ours = watch(config.root, { ignored, ignoreInitial: true })
    ours.on('all', (event, path, stats) => void watcher.emit(event, path, stats))
    ours.on('error', (error) => config.logger.error(String(error)))
    httpServer?.once('close', () => void ours.close())
  },
}

export default {
  // What Vite keeps is not kept in the project, which may be read-only.
  cacheDir: join(process.env.OUT ?? 'node_modules', '.vite'),
  ...(process.env.WATCHED_BY !== 'vite' && { server: { watch: null }, plugins: [inotifyBridge] }),
}
