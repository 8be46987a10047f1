// The mounts that tests name with `parameters.mount`.
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFat } from './fat_image.mjs'
import { serve } from './nfs_server.mjs'
import { run } from './run.mjs'

/** A tmpfs of the guest. */
export const MEMORY = '/mnt/memory'

/** `exported`: the file system behind an NFS mount. @typedef {{ type: string, source?: string, options: string, exported?: 'ext4' | 'vfat' }} Mount */

/**
 * The directory of a run as the library sees it, and the same directory behind the mount if the guest makes
 * the changes.
 *
 * @typedef {{ front: string, behind?: string }} Mounted
 */

/**
 * @param {{ mount?: Mount }} parameters the test's
 * @param {string} directory this run's, on the share
 * @param {string} name this run's
 * @returns {Mounted}
 */
export function mounted({ mount }, directory, name) {
  if (mount === undefined) return { front: directory }
  if (mount.type === 'bindfs') return bindfs(mount, name)
  if (mount.type === 'nfs4') return nfs(mount, name)
  return { front: join(ofShare(mount), name) }
}

/**
 * Mounts the directory of the share once more. Mounts once for all scenarios, because a 9p device serves one
 * mount.
 *
 * @param {Mount} mount
 */
function ofShare({ type, source = '', options }) {
  const point = join(MEMORY, 'front')
  if (readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${point} `)) return point
  mkdirSync(point)
  run('mount', ['-t', type, '-o', options, source, point])
  return point
}

/**
 * Starts a server of its own for each run. The server ends with the guest.
 *
 * @param {Mount} mount @param {string} name @returns {Mounted}
 */
function bindfs({ options }, name) {
  const front = join(MEMORY, name, 'front')
  const behind = join(MEMORY, name, 'behind')
  for (const path of [front, behind]) mkdirSync(path, { recursive: true })
  run('bindfs', [...(options === '' ? [] : ['-o', options]), behind, front])
  return { front, behind }
}

/**
 * Mounts NFS from a server in the same kernel. Each run has a mount with a superblock of its own: else this
 * run would have the cache and the options of an earlier one.
 *
 * @param {Mount} mount
 * @param {string} name
 * @returns {Mounted}
 */
function nfs({ options, exported: type = 'ext4' }, name) {
  const exported = join(MEMORY, 'exported')
  disk(type, exported)
  serve(exported, join(MEMORY, 'nfsd'))
  const point = join(MEMORY, name, 'front')
  for (const path of [point, join(exported, name)]) mkdirSync(path, { recursive: true })
  const all = `addr=127.0.0.1,clientaddr=127.0.0.1,sec=sys,nosharecache,${options}`
  // -i: the kernel reads the options itself. mount.nfs would only resolve an address.
  run('mount', ['-i', '-t', 'nfs4', '-o', all, '127.0.0.1:/', point])
  return { front: join(point, name), behind: join(exported, name) }
}

/**
 * Makes a file system that a server may export. ext4 counts the changes of each file and directory for the
 * client (as tmpfs does, in this kernel). vfat has only a time, which advances every 2 s.
 *
 * @param {'ext4' | 'vfat'} type
 * @param {string} point
 */
function disk(type, point) {
  if (existsSync(point)) return
  const image = `${point}.image`
  if (type === 'vfat') writeFat(image)
  else {
    writeFileSync(image, '')
    truncateSync(image, 32 * 1024 * 1024)
    run('/sbin/mkfs.ext4', ['-q', '-F', image])
  }
  mkdirSync(point)
  run('mount', ['-t', type, '-o', type === 'vfat' ? 'loop,iocharset=ascii' : 'loop', image, point])
}
