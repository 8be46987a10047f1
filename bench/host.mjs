// Describes the machine for the results.
import { readFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'

const PACKAGES = ['@parcel/watcher', 'chokidar', 'watchpack']

/** @param {import('./watchers/outside.mjs').Peers} peers */
export function describeHost({ versions, missing }) {
  return {
    kernel: release(),
    node: process.version,
    cpus: cpus().length,
    model: cpus()[0]?.model ?? 'unknown',
    date: new Date().toISOString().slice(0, 10),
    peers: [...PACKAGES.map((name) => `${name} ${versionOf(name)}`), ...versions].join(', '),
    leftOut: missing.join(', '),
    maxQueuedEvents: numberOf('max_queued_events'),
    maxUserWatches: numberOf('max_user_watches'),
  }
}

/** @param {string} name */
function versionOf(name) {
  const file = join(import.meta.dirname, '../node_modules', name, 'package.json')
  return JSON.parse(readFileSync(file, 'utf8')).version
}

/** @param {string} limit */
const numberOf = (limit) => Number(readFileSync(`/proc/sys/fs/inotify/${limit}`, 'utf8'))
