import { mkdirSync, statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { enterNamespace, mayUnshare } from '../../mounts/namespace.ts'

/** A directory to watch, and one beside it on the same filesystem. */
export interface Place extends AsyncDisposable {
  tree: string
  outside: string
}

export const FILESYSTEMS = ['ext4', 'overlay', 'tmpfs'] as const
export type Filesystem = (typeof FILESYSTEMS)[number]

const MAGIC: Readonly<Record<'ext4' | 'tmpfs', number>> = { ext4: 0xef53, tmpfs: 0x01021994 }

function directoryOn(filesystem: 'ext4' | 'tmpfs'): string | undefined {
  return [tmpdir(), '/var/tmp', '/dev/shm', process.cwd()].find((directory) => {
    try {
      return statfsSync(directory).type === MAGIC[filesystem]
    } catch {
      return false
    }
  })
}

/** Why there can be no place on this filesystem, if so. */
export function unavailable(filesystem: Filesystem): string | undefined {
  if (filesystem === 'overlay') return mayUnshare ? undefined : 'needs unshare -rm'
  return directoryOn(filesystem) === undefined ? 'no such directory here' : undefined
}

/** A place that goes when it is disposed of. `plant` puts something into the tree beforehand. */
export async function makePlace(filesystem: Filesystem, plant: (tree: string) => void): Promise<Place> {
  return filesystem === 'overlay' ? await overlay(plant) : await plain(filesystem, plant)
}

async function plain(filesystem: 'ext4' | 'tmpfs', plant: (tree: string) => void): Promise<Place> {
  const parent = directoryOn(filesystem)
  if (parent === undefined) throw new Error(`${filesystem}: no such directory here`)
  const base = await mkdtemp(join(parent, 'inotify-bridge-model-'))
  const [tree, outside] = [join(base, 'tree'), join(base, 'outside')]
  for (const path of [tree, outside]) mkdirSync(path)
  plant(tree)
  return { tree, outside, [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }) }
}

// userxattr: in a user namespace an overlay may not set the attributes that it marks directories with, and fails with EIO.
// What is planted under these names lies in the lower layer: it is copied up when it is changed.
const LOWER = 'a b c -rf'

/** Mounted in a namespace, which ends with this process in any case. */
async function overlay(plant: (tree: string) => void): Promise<Place> {
  const planted = await mkdtemp(join(tmpdir(), 'inotify-bridge-model-'))
  try {
    plant(planted)
    const namespace = await enterNamespace(
      // Where the temporary directory is an overlay itself, it cannot hold the upper layer.
      `[ "$(stat -f -c %T .)" != overlayfs ] || { mount -t tmpfs none "$PWD"; cd "$PWD"; }
       mkdir -p lower/tree lower/outside upper work merged
       for name in ${LOWER}; do mv ${planted}/$name lower/tree/; done
       mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr merged
       cp -a ${planted}/. merged/tree`,
    )
    const merged = namespace.reach(join(namespace.directory, 'merged'))
    return {
      tree: join(merged, 'tree'),
      outside: join(merged, 'outside'),
      [Symbol.asyncDispose]: async () => namespace[Symbol.dispose](),
    }
  } finally {
    await rm(planted, { recursive: true })
  }
}
