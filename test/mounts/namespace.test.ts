import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadAddon } from '../../src/addon.ts'
import { pinnedBy } from '../../src/mounts/diagnosis/single_file_mount.ts'
import { findMount, mountOf } from '../../src/mounts/mount_of.ts'
import { mountAt, parseMountinfo } from '../../src/mounts/mountinfo.ts'
import { enterNamespace, mayUnshare, type Namespace } from './namespace.ts'

const addonIsBuilt = existsSync(join(import.meta.dirname, '../../build/Release/inotify_bridge.node'))

/** Writes the kernel's own answer for each path: the mnt_id of an open descriptor, with no help of ours. */
const TELL = 'tell() { exec 3<"$1"; sed -n "s/^mnt_id:[^0-9]*//p" /proc/self/fdinfo/3; exec 3<&-; }'

const STACK = `${TELL}
mkdir -p bound 'to here' a/b; echo x > bound/file
mount --bind bound 'to here'
mount -t tmpfs hidden a/b
mount -t tmpfs over a
mkdir -p a/b a/stack/deep
mount -t tmpfs lower a/stack
mount -t tmpfs upper a/stack
tell "$PWD/to here/file"; tell "$PWD/bound/file"; tell "$PWD/a/b"; tell "$PWD/a/stack"`
const PATHS = ['to here/file', 'bound/file', 'a/b', 'a/stack']

function eachPath(namespace: Namespace): Array<{ path: string; expected: number }> {
  const ids = namespace.output.trim().split('\n').map(Number)
  return PATHS.map((path, i) => ({ path: join(namespace.directory, path), expected: ids[i] ?? 0 }))
}

describe.skipIf(!mayUnshare)('in a mount namespace (needs unshare -rm)', () => {
  it('the walk through the table agrees with the kernel on binds, hidden and stacked mounts', async () => {
    using namespace = await enterNamespace(STACK)
    const table = parseMountinfo(namespace.mountinfo())
    for (const { path, expected } of eachPath(namespace)) {
      expect(mountAt(table, path)?.id, path).toBe(expected)
    }
    const source = (path: string) => mountAt(table, join(namespace.directory, path))?.source
    expect(source('a/b')).toBe('over')
    expect(source('a/stack')).toBe('upper')
    expect(mountAt(table, join(namespace.directory, 'to here'))?.root).toMatch(/\/bound$/)
  })

  it.skipIf(!addonIsBuilt)("so does the addon's mount id (needs the addon)", async () => {
    using namespace = await enterNamespace(STACK)
    const system = {
      mountId: (path: string) => loadAddon().mountId(namespace.reach(path)),
      readMountinfo: namespace.mountinfo,
      realPath: (): string => expect.fail('the path was asked for'),
      fType: (): number => expect.fail('f_type was asked for'),
    }
    for (const { path, expected } of eachPath(namespace)) {
      expect(findMount(path, system).id, path).toBe(expected)
    }
  })

  it.skipIf(!addonIsBuilt)(
    "a path in another's namespace is not taken for ours (needs the addon)",
    async () => {
      using namespace = await enterNamespace('mkdir only; mount -t tmpfs other only; mkdir only/there')
      const path = join(namespace.directory, 'only')
      expect(mountOf(path).type).not.toBe('')
      expect(mountOf(namespace.reach(join(path, 'there')))).toMatchObject({ type: 'tmpfs', point: '' })
    },
  )

  it('a single-file bind is static, and stale once its source is replaced', async () => {
    using namespace = await enterNamespace(
      'for f in one two; do echo 1 > $f; : > on-$f; mount --bind $f on-$f; done; echo 2 > new; mv new two',
    )
    const table = parseMountinfo(namespace.mountinfo())
    const pinned = (name: string, links: bigint) => {
      const path = join(namespace.directory, name)
      const mount = mountAt(table, path)
      return mount && pinnedBy(mount, path, { regular: true, links })
    }
    expect(pinned('on-one', 1n)).toBe('static')
    expect(pinned('on-two', 1n)).toBe('stale')
    expect(pinned('two', 1n)).toBe('no')
  })
})
