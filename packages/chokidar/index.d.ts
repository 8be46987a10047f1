export * from 'inotify-bridge/chokidar'
export { default } from 'inotify-bridge/chokidar'
