export * from 'inotify-bridge/parcel'
export { default } from 'inotify-bridge/parcel'
