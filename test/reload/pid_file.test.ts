import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lchownSync,
  linkSync,
  mkdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SyscallThread } from '../../src/mounts/syscalls/syscall_thread.ts'
import { signalPidFile } from '../../src/reload/actions/pid_file.ts'
import { processCalled } from '../../src/reload/actions/processes.ts'
import { giveAway, isRoot, NOBODY } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { attempt, listener } from './signalled.ts'

const signal = 'SIGHUP' as const
const heard = { timeout: 60_000, interval: 5 }

/** A directory that everybody may write, as an emptyDir is. */
function shared(): string {
  const directory = scratch()
  chmodSync(directory, 0o777)
  return directory
}

/** A pid file of somebody else's. */
function pidFileOf(owner: number, pid: number, directory = shared()): string {
  const pidFile = join(directory, 'app.pid')
  writeFileSync(pidFile, `${pid}\n`)
  chownSync(pidFile, owner, owner)
  return pidFile
}

const nobodys = (script?: string) => listener('/bin/sh', script, { uid: NOBODY })

test('what is no regular file is named, and never opened: nobody waits for a FIFO', async () => {
  const directory = scratch()
  const pidFile = join(directory, 'app.pid')
  const kinds: Array<[string, () => unknown]> = [
    ['a FIFO', () => spawnSync('mkfifo', [pidFile])],
    ['a directory', () => mkdirSync(pidFile)],
    ['a device', () => symlinkSync('/dev/null', pidFile)],
    ['a socket', () => once(createServer().listen(pidFile).unref(), 'listening')],
  ]
  for (const [kind, make] of kinds) {
    await make()
    expect(await attempt({ signal, pidFile })).toBe(
      `the pid file '${pidFile}' cannot be used: it is ${kind}: name the regular file that the process writes its pid to`,
    )
    rmSync(pidFile, { recursive: true })
  }
})

test.each(['602', '620'])('one that others may write, its group too, is not believed: %s', async (mode) => {
  const { pid, hups } = await listener()
  const pidFile = join(scratch(), 'app.pid')
  writeFileSync(pidFile, `${pid}`)
  chmodSync(pidFile, Number.parseInt(mode, 8))
  expect(await attempt({ signal, pidFile })).toMatch(
    /^the pid file '.*' cannot be used: others than its owner may write it: chmod go-w$/,
  )
  chmodSync(pidFile, 0o644)
  expect(await attempt({ signal, pidFile })).toBe('reload')
  await expect.poll(hups, heard).toBe(1)
})

test('a hard link of another pid file is not believed', async () => {
  const { pid, hups } = await listener()
  const directory = scratch()
  const [pidFile, other] = [join(directory, 'app.pid'), join(directory, 'other.pid')]
  writeFileSync(other, `${pid}`)
  linkSync(other, pidFile)
  expect(await attempt({ signal, pidFile })).toMatch(
    /^the pid file '.*' cannot be used: it has 2 names \(hard links\): have it written anew/,
  )
  rmSync(other)
  expect(await attempt({ signal, pidFile })).toBe('reload')
  await expect.poll(hups, heard).toBe(1)
})

describe.skipIf(!isRoot)("other users' (needs root)", () => {
  test('whoever owns the file names processes that he may signal himself, and no other', async () => {
    const [ours, theirs] = [await listener(), await nobodys()]
    const forged = pidFileOf(NOBODY, ours.pid)
    expect(await attempt({ signal, pidFile: forged })).toBe(
      `the pid file '${forged}' cannot be used: it, or a symlink that leads to it, belongs to user 65534, who may not signal process ${ours.pid} ('sh', of user 0): it must belong to root, to the user of this reloader (0) or to that process's; put it into a directory that only they may write`,
    )
    expect(await attempt({ signal, pidFile: pidFileOf(NOBODY, theirs.pid) })).toBe('reload')
    await expect.poll(theirs.hups, heard).toBe(1)
    expect(await attempt({ signal, pidFile: pidFileOf(0, theirs.pid) })).toBe('reload')
    await expect.poll(theirs.hups, heard).toBe(2)
    expect(ours.hups()).toBe(0)
  })

  test("a symlink counts as the file does: another's does not choose among root's pid files", async () => {
    const { pid, hups } = await listener()
    const directory = shared()
    const [pidFile, link] = [pidFileOf(0, pid, directory), join(directory, 'link')]
    symlinkSync(pidFile, link)
    giveAway(link)
    expect(await attempt({ signal, pidFile: link })).toMatch(
      /symlink that leads to it, belongs to user 65534/,
    )
    expect(hups()).toBe(0)
    lchownSync(link, 0, 0)
    expect(await attempt({ signal, pidFile: link })).toBe('reload')
    await expect.poll(hups, heard).toBe(1)
  })

  test('one who changes the file while it is read, 200 times: never another process than those it may name', async () => {
    const directory = shared()
    const [ours, named] = [await listener(), await listener()]
    const pidFile = pidFileOf(0, named.pid, directory)
    // The directory is everybody's, so he renames what he likes: root's file away, his own to its name, and back.
    const attack = `
      const { renameSync, writeFileSync } = require('node:fs')
      process.chdir(${JSON.stringify(directory)})
      writeFileSync('forged', '${ours.pid}')
      process.stdout.write('ready')
      for (;;) {
        renameSync('app.pid', 'away')
        renameSync('forged', 'app.pid')
        renameSync('app.pid', 'forged')
        renameSync('away', 'app.pid')
      }`
    const attacker = spawn(process.execPath, ['-e', attack], {
      uid: NOBODY,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(async () => {
      if (!attacker.kill('SIGKILL')) return
      await once(attacker, 'exit')
    })
    await once(attacker.stdout, 'data')
    const calls = new SyscallThread()
    onTestFinished(() => calls.end())
    // At least so often, and until it was played: at times his is what was opened.
    const outcomes: string[] = []
    const wasPlayed = () => outcomes.some((outcome) => outcome.includes('to user 65534'))
    while (outcomes.length < 200 || !(wasPlayed() || outcomes.length === 20_000))
      outcomes.push(await signalPidFile(pidFile, signal, calls).then(() => '', String))
    expect(wasPlayed()).toBe(true)
    expect(attacker.exitCode).toBe(null)
    process.kill(ours.pid, signal)
    await expect.poll(ours.hups, heard).toBe(1)
  })

  test("by name, a user's own processes are meant; root means anybody's, and says where there are two", async () => {
    const directory = scratch()
    chmodSync(directory, 0o755)
    const name = 'ib-test-namesake'
    const path = join(directory, name)
    copyFileSync(realpathSync('/bin/sh'), path)
    const asNobody = <T>(act: () => T): T => {
      process.seteuid?.(NOBODY)
      try {
        return act()
      } finally {
        process.seteuid?.(0)
      }
    }
    const ours = await listener(path)
    expect(() => asNobody(() => processCalled(name))).toThrow(
      `no process of this user is called '${name}', but others' are: run as the same user or as root, or name it by its pid or its pid file`,
    )
    expect(processCalled(name).pid).toBe(ours.pid)
    const theirs = await listener(path, undefined, { uid: NOBODY })
    expect(asNobody(() => processCalled(name)).pid).toBe(theirs.pid)
    expect(() => processCalled(name)).toThrow(
      /more than one process is called 'ib-test-namesake'.*by its pid or its pid file/,
    )
  })
})
