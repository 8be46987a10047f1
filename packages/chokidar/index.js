export { default, FSWatcher, watch } from 'inotify-bridge/chokidar'
