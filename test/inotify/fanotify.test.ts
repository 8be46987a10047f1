import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Fanotify, type FanotifyEvent, formatMask, IN_Q_OVERFLOW } from '../../src/index.ts'
import { acting, MARKING, MEMORY, mayMark, overflow } from '../support/acting.ts'
import { descriptorsOf } from '../support/descriptors.ts'
import { AS_NOBODY, isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'

const DIST = join(import.meta.dirname, '../../dist/index.js')
const isBuilt = existsSync(DIST)

function marking(...paths: string[]): Fanotify {
  const fanotify = new Fanotify()
  onTestFinished(() => fanotify.close())
  for (const path of paths) fanotify.add(path)
  return fanotify
}

/** Returns the events up to one that is the last. Leaves the instance open. */
async function until(fanotify: Fanotify, isLast: (event: FanotifyEvent) => unknown) {
  const found: FanotifyEvent[] = []
  while (!found.some(isLast)) {
    const { done, value } = await fanotify[Symbol.asyncIterator]().next()
    if (done) throw new Error('closed before the last event came')
    found.push(...value)
    const isOverflown = value.some(({ mask }) => mask & IN_Q_OVERFLOW)
    if (isOverflown && !value.some(isLast))
      throw new Error('others on this file system have filled the queue')
  }
  return found
}

/** Returns all bits of each path in a directory: the kernel may have merged some, or not. */
function masksOf(events: readonly FanotifyEvent[], within: string): Record<string, string> {
  const masks: Record<string, number> = {}
  for (const { path, mask } of events) if (path?.startsWith(within)) masks[path] = (masks[path] ?? 0) | mask
  return Object.fromEntries(
    Object.entries(masks).map(([path, mask]) => [path.slice(within.length + 1), formatMask(mask)]),
  )
}

const isAt = (last: string) => (event: FanotifyEvent) => event.path === last

describe.skipIf(!mayMark)(`one mark for a file system (${MARKING})`, () => {
  test('what another process changes comes with its pid and name, what this one changes not at all', async () => {
    const at = scratch()
    const fanotify = marking(dirname(at), at)
    const { by, does } = await acting(at)
    writeFileSync(join(at, 'own'), '')
    await does(
      `fs.writeFileSync('a', 'x'); fs.renameSync('a', 'b'); fs.unlinkSync('b'); fs.mkdirSync('\xe9')`,
    )
    const events = await until(fanotify, isAt(join(at, '\xe9')))
    expect(events.filter(isAt(join(at, '\xe9')))).toHaveLength(1)
    expect(masksOf(events, at)).toEqual({
      a: 'IN_MODIFY|IN_CLOSE_WRITE|IN_MOVED_FROM|IN_CREATE',
      b: 'IN_MOVED_TO|IN_DELETE',
      '\xe9': 'IN_CREATE|IN_ISDIR',
    })
    for (const event of events) if (event.path?.startsWith(at)) expect(event).toMatchObject(by)
  })

  test('1,000 directories made later are covered, with all in them; what is in one that has gone has no path', async () => {
    const at = scratch(MEMORY)
    const fanotify = marking(at)
    const make = `fs.mkdirSync(i + '/e', { recursive: true }); fs.writeFileSync(i + '/e/f', '')`
    await (await acting(at)).does(`for (let i = 0; i < 1000; i++) { ${make} }`)
    // Nothing is read meanwhile.
    execFileSync('sh', ['-c', 'mkdir gone && : >gone/f && rm -r gone && mkdir last'], { cwd: at })
    const told = new Set((await until(fanotify, isAt(join(at, 'last')))).map(({ path }) => path))
    for (let i = 0; i < 1000; i++) expect(told).toContain(join(at, `${i}/e/f`))
    expect(told).not.toContain(join(at, 'gone/f'))
    expect(told).toContain(undefined)
  })

  test('an overflow of the queue is said, and what comes later is told', async () => {
    const at = scratch(MEMORY)
    const fanotify = marking(at)
    const { does } = await acting(at)
    overflow(at, '')
    const isLost = ({ mask }: FanotifyEvent) => mask & IN_Q_OVERFLOW
    const lost = (await until(fanotify, isLost)).find(isLost)
    expect(lost).toEqual({ path: undefined, mask: IN_Q_OVERFLOW, pid: 0, comm: undefined })
    await does(`fs.mkdirSync('last')`)
    await until(fanotify, isAt(join(at, 'last')))
  })

  test('two directories, perhaps of two file systems; more than may wait for the loop is told when it goes on', async () => {
    const [one, other] = [scratch(), scratch(MEMORY)]
    const fanotify = marking(one, other)
    const { does } = await acting(other)
    for (let i = 0; i < 40; i++) await does(`fs.mkdirSync('${one}/${i}'); fs.mkdirSync('${i}')`)
    const events = await until(fanotify, isAt(join(other, '39')))
    for (const at of [one, other]) expect(Object.keys(masksOf(events, at))).toHaveLength(40)
  })

  test.skipIf(!isBuilt)(
    'of mounts those paths are told that lead there, and no unmount is held up (needs dist)',
    () => {
      const program = join(import.meta.dirname, 'fanotify_mounts.mjs')
      const said = execFileSync('unshare', ['-m', process.execPath, program, scratch()], { encoding: 'utf8' })
      // For a/f, which the subtree does not show, the kernel has a path all the same.
      expect(said).toBe(
        'sub/b/f; fs/a/f fs/b/b/f sub/b/f; covered [null], uncovered ["fs/b/b/f"]; unmounted\n',
      )
    },
  )

  test('it may be closed while events are pending, and is closed by leaving the loop and by `await using`', async () => {
    const at = scratch()
    const instances = () => descriptorsOf('anon_inode:[fanotify]')
    const before = instances()
    const [fanotify, left] = [marking(at), marking(at)]
    execFileSync('sh', ['-c', 'i=0; while [ $i -lt 500 ]; do : >$i; i=$((i + 1)); done'], { cwd: at })
    const next = fanotify[Symbol.asyncIterator]().next()
    expect(instances()).toBe(before + 2)
    fanotify.close()
    fanotify.close()
    expect(await next).toEqual({ done: true, value: undefined })
    expect(() => fanotify.add(at)).toThrow(expect.objectContaining({ code: 'EBADF' }))
    for await (const _ of left) break
    await marking(at)[Symbol.asyncDispose]()
    expect(instances()).toBe(before)
  })

  test.each([
    ['/etc/passwd', 'ENOTDIR', 'directory'],
    ['/proc', 'ENOTSUP', 'handles'],
    ['/nowhere', 'ENOENT', 'no such path'],
  ])('%s: %s, and a hint', (path, code, hint) => {
    const error = { code, syscall: 'fanotify_mark', path, hint: expect.stringContaining(hint) }
    expect(() => marking(path)).toThrow(expect.objectContaining(error))
  })

  test.skipIf(spawnSync('bindfs', ['--version']).status !== 0)('FUSE: ENODEV (needs bindfs)', () => {
    const at = scratch()
    execFileSync('bindfs', [scratch(), at])
    onTestFinished(() => void execFileSync('umount', [at]))
    const hint = expect.stringContaining('FUSE')
    expect(() => marking(at)).toThrow(expect.objectContaining({ code: 'ENODEV', path: at, hint }))
  })
})

test('a path with a NUL byte is a TypeError', () => {
  expect(() => marking('/\0')).toThrow(TypeError)
})

test.skipIf(!isRoot || !isBuilt)('EPERM names the rights (needs root, to give them up, and dist)', () => {
  const script = `import('${DIST}').then(({ Fanotify }) => new Fanotify().add('/tmp')).catch(({ code, hint }) => {
    console.log(code, hint)
    process.exit()
  })`
  const said = execFileSync('setpriv', [...AS_NOBODY, process.execPath, '-e', script], { encoding: 'utf8' })
  expect(said).toMatch(/^EPERM .*CAP_SYS_ADMIN.*CAP_DAC_READ_SEARCH/)
})
