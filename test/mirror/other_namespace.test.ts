import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mirror } from '../../src/mirror/mirror.ts'
import { enterNamespace, mayUnshare } from '../mounts/namespace.ts'

test.skipIf(!mayUnshare)(
  'a mount over the source in another namespace has its path, and is no part of it (needs unshare -rm)',
  async () => {
    using namespace = await enterNamespace('mkdir source; echo one >source/a; mount -t tmpfs over source')
    const source = join(namespace.directory, 'source')
    const target = namespace.reach(source)
    await using mirrored = await mirror(source, target, { quiet: 0 })
    expect(mirrored.state).toBe('mirroring')
    expect(readFileSync(join(target, 'a'), 'utf8')).toBe('one\n')
  },
)

test.skipIf(!mayUnshare)(
  'the source itself, reached by way of another namespace, is refused (needs unshare -rm)',
  async () => {
    using namespace = await enterNamespace('mkdir source source/within')
    const source = join(namespace.directory, 'source')
    for (const path of [source, join(source, 'within'), join(source, 'new'), namespace.directory]) {
      await expect(mirror(source, namespace.reach(path)), path).rejects.toMatchObject({ code: 'EINVAL' })
    }
    mkdirSync(join(source, 'more'))
    writeFileSync(join(source, 'more/a'), '')
    await expect(mirror(source, namespace.reach(join(source, 'more')))).rejects.toMatchObject({
      code: 'EINVAL',
    })
  },
)
