import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdirSync, openSync, statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { enterNamespace, mayUnshare } from '../../../mounts/namespace.ts'
import { type Settings, SHAPES } from '../settings.ts'
import { plant, plantShape, topsOf } from './plant.ts'

/** A tree to watch, and a directory beside it on the same filesystem. Disposal removes both. */
export interface World extends AsyncDisposable {
  tree: string
  outside: string
  /** The descriptor of the deepest directory of a deep tree. */
  bottom?: number
}

const MAGIC = { ext4: 0xef53, tmpfs: 0x01021994 } as const

function directoryOn(filesystem: 'ext4' | 'tmpfs'): string | undefined {
  return [tmpdir(), '/var/tmp', '/dev/shm', process.cwd()].find((directory) => {
    try {
      return statfsSync(directory).type === MAGIC[filesystem]
    } catch {
      return false
    }
  })
}

/** Returns the reason why this machine can have no world with these settings, or undefined. */
export function unavailable({
  filesystem,
  binds,
}: Pick<Settings, 'filesystem' | 'binds'>): string | undefined {
  if (filesystem === 'overlay' || binds)
    return mayUnshare ? undefined : `${binds ? 'bind mounts need' : 'overlay needs'} unshare -rm`
  return directoryOn(filesystem) === undefined ? `no ${filesystem} here` : undefined
}

export async function makeWorld(settings: Settings): Promise<World> {
  const { filesystem, binds } = settings
  if (binds) return await mounted(settings, WITH_BINDS)
  return filesystem === 'overlay' ? await mounted(settings, OVERLAY) : await plain(filesystem, settings)
}

async function plain(filesystem: 'ext4' | 'tmpfs', settings: Settings): Promise<World> {
  const parent = directoryOn(filesystem)
  if (parent === undefined) throw new Error(`${filesystem}: no such directory here`)
  const base = await mkdtemp(join(parent, 'inotify-bridge-model-'))
  const [tree, outside] = [join(base, 'tree'), join(base, 'outside')]
  for (const path of [tree, outside]) mkdirSync(path)
  plant(settings, tree, outside)
  await plantShape(settings.shape, tree, outside)
  const { levels } = SHAPES[settings.shape]
  const bottom = levels === undefined ? {} : { bottom: openBelow(join(tree, 'c'), levels) }
  return {
    tree,
    outside,
    ...bottom,
    async [Symbol.asyncDispose]() {
      if (bottom.bottom !== undefined) closeSync(bottom.bottom)
      // rm goes by descriptors, unlike fs.rm: the tree may be deeper than a path can be long.
      execFileSync('rm', ['-rf', '--', base])
    },
  }
}

function openBelow(directory: string, levels: number): number {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY
  let fd = openSync(directory, flags)
  for (let i = 0; i < levels; i++) {
    const below = openSync(`/proc/self/fd/${fd}/d`, flags)
    closeSync(fd)
    fd = below
  }
  return fd
}

// The scripts get the directory of the planted entries as $planted, and make `top/tree` and `top/outside`. A
// temporary directory on an overlay cannot hold the upper layer, hence the tmpfs. Every other name lies in
// the lower layer, and the kernel copies it up at the first change. userxattr: in a user namespace an overlay
// may not set the attributes with which it marks directories, and fails with EIO.
const OVERLAY = `
  [ "$(stat -f -c %T .)" != overlayfs ] || { mount -t tmpfs none "$PWD"; cd "$PWD"; }
  mkdir -p lower/tree lower/outside upper work top
  isLower=
  for path in "$planted"/tree/*; do
    isLower=$([ -n "$isLower" ] || echo yes)
    [ -z "$isLower" ] || mv "$path" lower/tree/
  done
  mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr top
  cp -a "$planted/tree/." top/tree`

const WITH_BINDS = `
  mount -t tmpfs none "$PWD"; cd "$PWD"
  mkdir -p top/outside top/shared top/tree
  cp -a "$planted/tree/." top/tree
  cp -a "$planted/tree/c/." top/shared
  for name in m n; do mkdir "top/tree/$name"; mount --bind top/shared "top/tree/$name"; done`

/** Makes a world that is mounted in a namespace, which ends with this process in any case. */
async function mounted(settings: Settings, script: string): Promise<World> {
  const planted = await mkdtemp(join(tmpdir(), 'inotify-bridge-model-'))
  try {
    mkdirSync(join(planted, 'tree'))
    plant(settings, join(planted, 'tree'))
    const namespace = await enterNamespace(`planted='${planted}'\n${script}`)
    const top = namespace.reach(join(namespace.directory, 'top'))
    return {
      tree: join(top, 'tree'),
      outside: join(top, 'outside'),
      [Symbol.asyncDispose]: async () => namespace[Symbol.dispose](),
    }
  } finally {
    await rm(planted, { recursive: true })
  }
}

/** Returns the watched paths. */
export function rootsOf(settings: Settings, { tree }: World): string[] {
  if (settings.roots === 'files') return ['a', 'b', 'c/b', 'x y/b', '-rf/c/b'].map((name) => join(tree, name))
  return topsOf(settings).map((top) => join(tree, top))
}
