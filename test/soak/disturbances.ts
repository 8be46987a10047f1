import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Choice } from '../mirror/model/random.mjs'
import type { Shell } from './shell.ts'

/** The place of the soak test. */
export interface Scene {
  readonly tree: string
  /** Holds roots that were replaced. */
  readonly aside: string
  readonly shell: Shell
  readonly choice: Choice
  /** This process is in namespaces of its own: it may mount, and has limits of its own. */
  readonly isApart: boolean
}

/** Disturbs the watcher while others write. Returns a function that undoes the disturbance. */
type Disturb = (scene: Scene) => Promise<(() => Promise<unknown>) | undefined>

const WATCHES = '/proc/sys/user/max_inotify_watches'
/** The directory in the tree at which a filesystem is mounted and unmounted. */
export const MOUNTED = 'm'

const pointOf = ({ tree }: Scene) => join(tree, MOUNTED)

export function isMounted(scene: Scene): boolean {
  return readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${pointOf(scene)} `)
}

export const DISTURBANCES: Readonly<Record<string, Disturb>> = {
  async nothing() {
    return undefined
  },
  async mount(scene) {
    if (!scene.isApart) return undefined
    if (isMounted(scene)) {
      // A watcher that reads a directory of the mount keeps the mount busy for that long.
      await scene.shell.run('umount m 2>/dev/null || umount -l m')
      return undefined
    }
    mkdirSync(pointOf(scene), { recursive: true })
    await scene.shell.run('mount -t tmpfs none m')
    for (const name of ['a', 'c/a', 'c/b']) {
      mkdirSync(join(pointOf(scene), name, '..'), { recursive: true })
      writeFileSync(join(pointOf(scene), name), name)
    }
    return undefined
  },
  async 'root replaced'(scene) {
    if (isMounted(scene)) return undefined
    const { tree, aside, choice } = scene
    const old = join(aside, String(readdirSync(aside).length))
    renameSync(tree, old)
    await sleep(choice.below(30))
    if (choice.isLikely(30)) renameSync(old, tree)
    else {
      mkdirSync(tree)
      writeFileSync(join(tree, 'a'), `new ${Date.now()}`)
    }
    // The shell follows to the directory that is watched now.
    await scene.shell.run(`cd ..; cd ${TREE}`)
    return undefined
  },
  async stopped({ shell, choice }) {
    await shell.run(`kill -STOP ${process.pid}; sleep 0.${1 + choice.below(8)}; kill -CONT ${process.pid}`)
    return undefined
  },
  async 'few watches'({ isApart, choice }) {
    if (!isApart) return undefined
    const before = readFileSync(WATCHES, 'utf8')
    writeFileSync(WATCHES, String(choice.below(60)))
    return async () => writeFileSync(WATCHES, before)
  },
  async 'few descriptors'({ shell, choice }) {
    const limit = (await shell.run(`prlimit --pid ${process.pid} --nofile --noheadings --output SOFT`)).trim()
    const few = readdirSync('/proc/self/fd').length + choice.below(6)
    await shell.run(`prlimit --pid ${process.pid} --nofile=${few}:`)
    return () => shell.run(`prlimit --pid ${process.pid} --nofile=${limit}:`)
  },
}

/** The tree's name in its parent directory. */
export const TREE = 'tree'
