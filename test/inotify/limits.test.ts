import { spawnSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readHolders } from '../../src/inotify/holders.ts'
import { addHint, type InotifyLimits, inotifyLimits, readInotifyLimits } from '../../src/inotify/limits.ts'

describe('readInotifyLimits', () => {
  let proc: string

  beforeEach(() => {
    proc = mkdtempSync(join(tmpdir(), 'inotify-bridge-proc-'))
    put('sys/fs/inotify/max_user_watches', '8192\n')
    put('sys/fs/inotify/max_user_instances', '128\n')
    put('sys/fs/inotify/max_queued_events', '16384\n')
  })
  afterEach(() => rmSync(proc, { recursive: true }))

  function put(path: string, text: string): void {
    mkdirSync(join(proc, path, '..'), { recursive: true })
    writeFileSync(join(proc, path), text)
  }

  function process(pid: number, uids: string): void {
    put(`${pid}/status`, `Name:\tnode\nPid:\t${pid}\nUid:\t${uids}\nGid:\t0\t0\t0\t0\n`)
    mkdirSync(join(proc, `${pid}/fd`))
  }

  function instance(pid: number, fd: number, watches: number, link = 'anon_inode:inotify'): void {
    symlinkSync(link, join(proc, `${pid}/fd/${fd}`))
    const row = 'inotify wd:1 ino:2 sdev:fe00000 mask:fce ignored_mask:0 fhandle-bytes:8\n'
    put(`${pid}/fdinfo/${fd}`, `pos:\t0\nflags:\t02004000\nmnt_id:\t15\nino:\t1057\n${row.repeat(watches)}`)
  }

  it('reads the three limits', () => {
    expect(readInotifyLimits(proc, 0)).toEqual({
      maxUserWatches: 8192,
      watchesLimitedBy: 'fs.inotify.max_user_watches',
      maxUserInstances: 128,
      instancesLimitedBy: 'fs.inotify.max_user_instances',
      maxQueuedEvents: 16384,
      watchesInUse: 0,
      instancesInUse: 0,
    })
  })

  it.each([
    ['9000', '128', 8192, 'fs.inotify.max_user_watches', 128, 'fs.inotify.max_user_instances'],
    ['8192', '0', 8192, 'fs.inotify.max_user_watches', 0, 'user.max_inotify_instances'],
    ['8191', '2147483647', 8191, 'user.max_inotify_watches', 128, 'fs.inotify.max_user_instances'],
  ])('of a user namespace with %s and %s the lower ones count', (watches, instances, ...expected) => {
    put('sys/user/max_inotify_watches', watches)
    put('sys/user/max_inotify_instances', instances)
    const found = readInotifyLimits(proc, 0)
    const { maxUserWatches, watchesLimitedBy, maxUserInstances, instancesLimitedBy } = found
    expect([maxUserWatches, watchesLimitedBy, maxUserInstances, instancesLimitedBy]).toEqual(expected)
    rmSync(join(proc, 'sys/fs'), { recursive: true })
    expect(readInotifyLimits(proc, 0).maxUserWatches).toBe(Number(watches))
  })

  it("adds up this real uid's instances and their watches, nobody else's", () => {
    process(10, '1000\t1000\t1000\t1000')
    instance(10, 3, 2)
    instance(10, 4, 0)
    instance(10, 5, 7, 'anon_inode:[eventpoll]')
    process(11, '1000\t0\t0\t0')
    instance(11, 3, 5)
    process(12, '0\t1000\t1000\t1000')
    instance(12, 3, 100)
    expect(readInotifyLimits(proc, 1000)).toMatchObject({ watchesInUse: 7, instancesInUse: 3 })
  })

  it('names who has them, the one with most first', () => {
    process(30, '0\t0\t0\t0')
    instance(30, 3, 2)
    process(31, '0\t0\t0\t0')
    instance(31, 3, 4)
    instance(31, 4, 5)
    put('31/comm', 'node\n')
    process(32, '0\t0\t0\t0')
    expect(readHolders(proc, 0)).toEqual([
      { pid: 31, name: 'node', instances: 2, watches: 9 },
      { pid: 30, name: '', instances: 1, watches: 2 },
    ])
  })

  it('leaves out a process that vanishes at any step', () => {
    mkdirSync(join(proc, '20'))
    process(21, '0\t0\t0\t0')
    rmSync(join(proc, '21/fd'), { recursive: true })
    process(22, '0\t0\t0\t0')
    instance(22, 3, 9)
    rmSync(join(proc, '22/fdinfo'), { recursive: true })
    process(23, '0\t0\t0\t0')
    instance(23, 3, 1)
    expect(readInotifyLimits(proc, 0)).toMatchObject({ watchesInUse: 1, instancesInUse: 1 })
  })

  it('counts what this process really watches', () => {
    const own = globalThis.process
    symlinkSync(`/proc/${own.pid}`, join(proc, `${own.pid}`))
    const count = () => readInotifyLimits(proc, own.getuid?.() ?? 0).watchesInUse
    const before = count()
    const watcher = watch(proc, { persistent: false })
    expect(count()).toBe(before + 1)
    watcher.close()
  })

  it('has NaN for a limit that /proc does not show', () => {
    rmSync(join(proc, 'sys/fs/inotify/max_user_watches'))
    expect(readInotifyLimits(proc, 0).maxUserWatches).toBeNaN()
    expect(readInotifyLimits(join(proc, 'nowhere'), 0)).toMatchObject({ instancesInUse: 0 })
  })
})

describe('inotifyLimits', () => {
  afterEach(() => void vi.useRealTimers())

  it("shows this kernel's limits", () => {
    const watches = Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8'))
    expect(inotifyLimits().maxUserWatches).toBe(watches)
  })

  it('reads anew after a second and not before, and what the caller does to one changes no other', () => {
    const before = Math.ceil(performance.now())
    vi.useFakeTimers({ toFake: ['performance'] })
    // The clock that takes the place of the real one begins at 0.
    vi.advanceTimersByTime(before + 5000)
    const first = inotifyLimits()
    const real = first.watchesInUse
    first.watchesInUse = -1
    expect(inotifyLimits().watchesInUse).toBe(real)

    const calls = vi.spyOn(process, 'getuid')
    vi.advanceTimersByTime(999)
    inotifyLimits()
    expect(calls).toHaveBeenCalledTimes(0)
    vi.advanceTimersByTime(1)
    inotifyLimits()
    expect(calls).toHaveBeenCalledTimes(1)
    calls.mockRestore()
  })
})

describe('addHint', () => {
  const limits: InotifyLimits = {
    maxUserWatches: 8192,
    watchesLimitedBy: 'fs.inotify.max_user_watches',
    maxUserInstances: 128,
    instancesLimitedBy: 'fs.inotify.max_user_instances',
    maxQueuedEvents: 16384,
    watchesInUse: 8192,
    instancesInUse: 128,
  }
  const hint = (code: keyof typeof constants.errno, given = limits) =>
    addHint(constants.errno[code], () => given)

  it('ENOSPC: which sysctl, its value, the use, the remedy and how it lasts', () => {
    expect(hint('ENOSPC')).toMatch(
      /fs\.inotify\.max_user_watches is 8192, 8192 in use by this user; raise it/,
    )
    expect(hint('ENOSPC')).toContain("'sysctl -w fs.inotify.max_user_watches=16384'")
    expect(hint('ENOSPC')).toContain('/etc/sysctl.d')
  })

  it('ENOSPC: speaks of other containers when the use that can be seen is not all', () => {
    expect(hint('ENOSPC', { ...limits, watchesInUse: 12 })).toMatch(/12 in use .*other containers count too/)
    expect(hint('ENOSPC')).not.toMatch(/containers/)
  })

  it('ENOSPC: gives no number that it does not know', () => {
    expect(hint('ENOSPC', { ...limits, maxUserWatches: Number.NaN })).not.toMatch(/NaN/)
  })

  it('the limit of a user namespace, by its name, which no sysctl.d of the node raises', () => {
    const given = { ...limits, maxUserWatches: 30, watchesLimitedBy: 'user.max_inotify_watches' as const }
    expect(hint('ENOSPC', given)).toMatch(
      /user\.max_inotify_watches is 30.*'sysctl -w user\.max_inotify_watches=128' as root of this user namespace/,
    )
    expect(hint('ENOSPC', given)).not.toMatch(/fs\.inotify|sysctl\.d/)
  })

  it('EMFILE: the instances, unless this process can open nothing more', () => {
    expect(hint('EMFILE')).toMatch(/max_user_instances is 128, 128 in use.*max_user_instances=256/)
  })

  it.skipIf(spawnSync('prlimit', ['--version']).error)(
    'EMFILE: the files this process may open (needs prlimit)',
    () => {
      const limitFiles = (soft: string) =>
        expect(spawnSync('prlimit', [`--pid=${process.pid}`, `--nofile=${soft}:`]).status).toBe(0)
      const soft = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? ''
      const opened: number[] = []
      limitFiles(String(Math.max(...readdirSync('/proc/self/fd').map(Number)) + 20))
      try {
        for (;;) opened.push(openSync('/', 'r'))
      } catch {
        expect(hint('EMFILE')).toMatch(/ulimit -n/)
      } finally {
        for (const fd of opened) closeSync(fd)
        limitFiles(soft)
      }
      expect(opened.length).toBeGreaterThan(0)
    },
  )

  it.each([
    ['ENOENT', /no such path/],
    ['EACCES', /read permission on the target itself.*search permission/],
    ['ENOTDIR', /IN_ONLYDIR.*component/],
    ['EINVAL', /mask is empty.*contradict.*watch descriptor/],
    ['EEXIST', /IN_MASK_CREATE.*watched already/],
    ['ENAMETOOLONG', /255 bytes/],
    ['ENOMEM', /memory/],
    ['ENFILE', /fs\.file-max/],
    ['EBADF', /closed/],
  ] as const)('%s', (code, text) => {
    expect(hint(code)).toMatch(text)
  })

  it('has nothing to say about an errno that inotify does not give', () => {
    expect(hint('EPIPE')).toBe('')
  })

  it('reads no limits for what they do not explain', () => {
    const read = vi.fn(() => limits)
    addHint(constants.errno.ENOENT, read)
    expect(read).not.toHaveBeenCalled()
  })
})
