import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Choice } from '../mirror/model/random.mjs'
import type { Shell } from './shell.ts'

/** Where it all happens. */
export interface Scene {
  readonly tree: string
  /** Where a root goes that is replaced. */
  readonly aside: string
  readonly shell: Shell
  readonly choice: Choice
  /** Whether this process may mount, and has limits of its own: it is in namespaces of its own. */
  readonly isApart: boolean
}

/** Something that happens to the watcher while others write; returns what is to be undone behind that. */
type Disturb = (scene: Scene) => Promise<(() => Promise<unknown>) | undefined>

const WATCHES = '/proc/sys/user/max_inotify_watches'
/** What is mounted and unmounted in the tree. */
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
      // Whoever looks into it keeps it busy for that long.
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
    // The shell's directory is the one that is watched.
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

/** The tree's name in the directory that it lies in. */
export const TREE = 'tree'
