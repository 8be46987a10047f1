import { readFile } from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { MountWatch, mountTable } from '../../src/mounts/mount_watch.ts'

vi.mock('node:fs/promises')
// The table that is read within open().
let first = ''
vi.mock('node:fs', () => ({ readFileSync: () => Buffer.from(first) }))

let notify = () => {}
// The kernel has news, which the event loop has not heard of.
let isUnheard = false
let descriptors = 0
vi.mock('../../src/addon.ts', () => ({
  loadAddon: () => ({
    MountTable: class {
      open(changed: () => void) {
        notify = changed
        descriptors++
        return 0
      }
      hasChanged = () => isUnheard
      unref() {}
      close() {
        descriptors--
      }
    },
  }),
}))

/** A mount table with mounts at these points. */
function table(...points: string[]): string {
  return points.map((point, id) => `${id + 1} 0 0:1 / ${point} rw - tmpfs none rw\n`).join('')
}

/** A watch that is being opened, where a table says what it said when its read was asked for, and that only when the test lets it. */
function openWatch() {
  let now = table('/')
  first = now
  const reads: Array<() => void> = []
  vi.mocked(readFile).mockImplementation(() => {
    const read = now
    return new Promise((resolve) => reads.push(() => resolve(Buffer.from(read))))
  })
  const told: string[][] = []
  const watch = new MountWatch((points) => void told.push(points))
  const opening = watch.open()
  /** From now on these are the mounts, which the kernel tells. */
  const mount = async (...points: string[]) => {
    now = table(...points)
    notify()
    await idle()
  }
  /** The same, and the kernel tells nobody yet. */
  const mountUnheard = (...points: string[]) => {
    now = table(...points)
  }
  return { watch, opening, mount, mountUnheard, reads, told }
}

/** Lets what waits for nothing but promises run. */
const idle = () => new Promise((resolve) => setImmediate(resolve))

/** It is opened, and has looked once more. */
async function opened({ opening, reads }: ReturnType<typeof openWatch>): Promise<void> {
  await opening
  while (reads.length === 0) await idle()
  reads.shift()?.()
  await idle()
}

/** Asks, and lets the event loop hear of all that was before. */
async function askSettled(watch: MountWatch): Promise<{ settled: Promise<void>; isSettled: () => boolean }> {
  let isDone = false
  const settled = watch.settled().then(() => {
    isDone = true
  })
  for (let turns = 0; turns < 3; turns++) await idle()
  return { settled, isSettled: () => isDone }
}

test('a table that is read while another read is under way is the one that counts in the end', async () => {
  const opening = openWatch()
  const { watch, mount, reads, told } = opening
  await opened(opening)

  await mount('/', '/a')
  await mount('/', '/a', '/b')
  // The last that was asked for is answered first.
  for (let read = reads.pop(); read !== undefined; read = reads.pop()) {
    read()
    await idle()
  }
  expect(told.flat().sort()).toEqual(['/a', '/b'])
  told.length = 0
  await mount('/', '/a')
  reads.shift()?.()
  await idle()
  expect(told).toEqual([['/b']])
  watch.close()
})

test('what is mounted before the kernel has been asked to tell is told', async () => {
  const opening = openWatch()
  const { watch, mountUnheard, told } = opening
  mountUnheard('/', '/a')
  await opened(opening)
  expect(told).toEqual([['/a']])
  watch.close()
})

test('who waits for what has been heard of does not wait for what is heard of later, however often the table changes', async () => {
  const opening = openWatch()
  const { watch, mount, reads, told } = opening
  await opened(opening)
  await mount('/', '/a')
  // Under way already when it is asked.
  await mount('/', '/a', '/b')
  const { settled, isSettled } = await askSettled(watch)
  reads.shift()?.()
  await idle()
  expect(isSettled()).toBe(false)
  // From now on there is always one more.
  await mount('/', '/a', '/b', '/c')
  reads.shift()?.()
  await settled
  expect(told.flat()).toContain('/b')
  watch.close()
})

test.each([false, true])(
  'a table that nobody could read is read again for a waiting caller (another has read it: %s)',
  async (isRead) => {
    const opening = openWatch()
    const { watch, mount, reads, told } = opening
    await opened(opening)
    vi.mocked(readFile).mockRejectedValueOnce(new Error('EMFILE'))
    await mount('/', '/a')
    first = table('/', '/a')
    if (isRead) expect([...mountTable().points]).toEqual(['/', '/a'])
    expect(told).toEqual([])
    const { settled } = await askSettled(watch)
    reads.shift()?.()
    await settled
    expect(told).toEqual([['/a']])
    watch.close()
  },
)

test('two watches have one descriptor and one read, and each is told what was mounted since it was opened', async () => {
  const opening = openWatch()
  const { watch, mount, reads, told } = opening
  await opened(opening)
  const toldOther: string[][] = []
  const other = new MountWatch((points) => void toldOther.push(points))
  await other.open()
  expect(descriptors).toBe(1)
  await mount('/', '/a')
  expect(reads).toHaveLength(1)
  reads.shift()?.()
  await idle()
  expect([told, toldOther]).toEqual([[['/a']], [['/a']]])
  watch.close()
  await mount('/')
  reads.shift()?.()
  await idle()
  expect([told, toldOther]).toEqual([[['/a']], [['/a'], ['/a']]])
  expect(descriptors).toBe(1)
  other.close()
  expect(descriptors).toBe(0)
})

test('a watch that is opened while the table is read is not told of a table that is older than its own', async () => {
  const opening = openWatch()
  const { watch, mount, mountUnheard, reads, told } = opening
  await opened(opening)
  await mount('/', '/a')
  // Read by the new watch within open(), and not by the read under way.
  first = table('/', '/a', '/b')
  mountUnheard('/', '/a', '/b')
  const toldOther: string[][] = []
  const other = new MountWatch((points) => void toldOther.push(points))
  await other.open()
  reads.shift()?.()
  await idle()
  expect([told, toldOther]).toEqual([[['/a']], []])
  await mount('/', '/a', '/b', '/c')
  reads.shift()?.()
  await idle()
  expect([told, toldOther]).toEqual([[['/a'], ['/b', '/c']], [['/c']]])
  watch.close()
  other.close()
})

test('while a watch is open the callers of a turn share a read, unless something is mounted between them', async () => {
  const opening = openWatch()
  const { watch } = opening
  await opened(opening)
  expect(mountTable()).toBe(mountTable())
  first = table('/', '/a')
  expect([...mountTable().points]).toEqual(['/'])
  isUnheard = true
  expect([...mountTable().points]).toEqual(['/', '/a'])
  isUnheard = false
  // The kernel has no news of a rename of a directory above a mount point.
  first = table('/', '/b')
  await idle()
  expect([...mountTable().points]).toEqual(['/', '/b'])
  watch.close()
  first = ''
  expect([...mountTable().points]).toEqual([])
})
