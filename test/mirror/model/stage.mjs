// Sets the place for rounds: a mount that delivers nothing of changes behind it, or a plain directory.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { serve, serveFuse } from '../fuse_mount.mjs'
import { Reader } from './reader.mjs'
import { Watching } from './watching.mjs'

/**
 * @typedef {object} Stage
 * @property {string} back a directory where sources are changed
 * @property {string} front where the mirror finds it
 * @property {Record<string, string>} targets a directory for targets, by file system; 'small': a tmpfs that can be remounted
 * @property {Watching} watching
 * @property {() => Promise<void>} end
 * @property {boolean} isLinkable whether readers may come by links to what is in `front`: not where the kernel remembers it for an hour
 */

/** It cannot be had here. */
export class Unable extends Error {}

/** @param {string} type @param {string} point @param {string[]} rest of mount(8)'s arguments */
function mount(type, point, ...rest) {
  const { status, stderr } = spawnSync('mount', ['-t', type, ...rest, type, point])
  if (status !== 0) throw new Unable(`${type}: ${String(stderr).trim()}`)
}

/** @param {string} back @param {string} front */
async function serveBindfs(back, front) {
  try {
    await serve(['bindfs', '-f', '--no-allow-other', back, front], front)
  } catch (error) {
    throw new Unable(String(error))
  }
}

/**
 * Kinds of FUSE, bindfs and overlay are mounted in `base`, in a mount namespace that goes with this process.
 *
 * @param {string} kind
 * @param {string} program ../../native/target_reader.c, compiled
 * @param {string} base
 * @param {readonly string[]} places for targets, as file system=directory
 * @returns {Promise<Stage>}
 */
export async function setStage(kind, program, base, places) {
  const isMounted = ['FUSE', 'FUSE by seconds', 'bindfs', 'overlay'].includes(kind)
  if (isMounted) mount('tmpfs', base)
  const [back, front] = isMounted ? [join(base, 'back'), join(base, 'front')] : [base, base]
  for (const path of [back, front]) fs.mkdirSync(path, { recursive: true })
  if (kind === 'FUSE') await serveFuse(back, front)
  if (kind === 'FUSE by seconds') await serveFuse(back, front, '', '1000000000')
  if (kind === 'bindfs') await serveBindfs(back, front)
  /** @type {Record<string, string>} */
  const targets = Object.fromEntries(places.map((place) => place.split('=')))
  if (isMounted) {
    targets.small = join(base, 'small')
    fs.mkdirSync(targets.small)
    mount('tmpfs', targets.small)
  }
  const reader = new Reader(program)
  const rest = {
    front,
    targets,
    watching: new Watching(reader),
    isLinkable: !kind.startsWith('FUSE'),
    end: () => reader.end(),
  }
  if (kind !== 'overlay') return { back, ...rest }
  for (const name of ['upper', 'work']) fs.mkdirSync(join(base, name))
  const layers = `lowerdir=${back},upperdir=${join(base, 'upper')},workdir=${join(base, 'work')},userxattr`
  mount('overlay', front, '-o', layers)
  targets.overlay = front
  // An overlay does not always show changes below it: rounds change the overlay.
  return { back: front, ...rest }
}
