import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { loadAddon } from '../../src/addon.ts'
import { parseStat, processOf } from '../../src/reload/actions/process_stat.ts'
import { isCalled, processCalled, signalProcess, startedAt } from '../../src/reload/actions/processes.ts'
import { reload } from '../../src/reload/reloader.ts'
import { openDescriptors } from '../support/descriptors.ts'
import { scratch } from '../support/scratch.ts'
import { reloading } from './fixture.ts'
import { attempt, listener } from './signalled.ts'

async function end(child: ChildProcess): Promise<void> {
  process.kill(-(child.pid as number), 'SIGKILL')
  await once(child, 'exit')
}

const heard = { timeout: 60_000, interval: 5 }
const signal = 'SIGHUP' as const

describe('by pid', () => {
  test('it is sent to that process, and no descriptor is left', async () => {
    const { pid, hups } = await listener()
    expect(await attempt({ signal, pid })).toBe('reload')
    await expect.poll(hups, heard).toBe(1)
    const descriptors = openDescriptors()
    const process = processOf(pid)
    if (process === undefined) throw new Error('it is gone')
    signalProcess(process, signal)
    expect(openDescriptors()).toBe(descriptors)
  })

  test('a pid that nobody has: an error at once', () => {
    const nobody = spawnSync('true').pid
    expect(() => reload({ paths: ['/tmp'], action: { signal, pid: nobody } })).toThrow(
      expect.objectContaining({
        code: 'ESRCH',
        hint: expect.stringContaining(`no process has the pid ${nobody}`),
      }),
    )
  })

  test('one that has ended meanwhile is said, with what to do', async () => {
    const { child, pid } = await listener()
    await end(child)
    // A zombie, which takes signals and does nothing, is no process either.
    expect(processOf(pid)).toBeUndefined()
    const other = await listener()
    const path = join(scratch(), 'a')
    writeFileSync(path, 'one')
    const { reloader, told } = await reloading({ paths: [path], action: { signal, pid: other.pid } })
    await end(other.child)
    writeFileSync(path, 'two')
    await reloader.trigger()
    expect(told.failures[0]?.reason).toMatch(/process \d+ has ended: start again with the pid of the new one/)
  })

  test('a pid that is another process by now is not signalled', async () => {
    const { pid, hups } = await listener()
    const meant = processOf(pid)
    if (meant === undefined) throw new Error('it is gone')
    // As if the one that was meant had been started a tick before.
    expect(() => signalProcess({ ...meant, start: meant.start - 1 }, signal)).toThrow(
      expect.objectContaining({ code: 'ESRCH', hint: expect.stringContaining('has ended') }),
    )
    expect(hups()).toBe(0)
  })

  test.each([
    ['ENOSYS', /ENOSYS.*Linux 5\.3 is needed/],
    ['EPERM', /EPERM.*CAP_KILL/],
  ] as const)('%s is said with what to do', async (code, words) => {
    const { errno } = await import('node:os').then(({ constants }) => constants)
    const pidfdOpen = vi.spyOn(loadAddon(), 'pidfdOpen').mockReturnValue(-errno[code])
    onTestFinished(() => pidfdOpen.mockRestore())
    const { pid } = await listener()
    expect(await attempt({ signal, pid })).toMatch(words)
  })
})

describe('by pid file', () => {
  test('it is sent to the process that the file names', async () => {
    const { pid, hups } = await listener()
    const pidFile = join(scratch(), 'app.pid')
    writeFileSync(pidFile, `${pid}\n`)
    expect(await attempt({ signal, pidFile })).toBe('reload')
    await expect.poll(hups, heard).toBe(1)
  })

  test('a file older than the process that it names is stale', async () => {
    const { pid, hups } = await listener()
    const pidFile = join(scratch(), 'app.pid')
    writeFileSync(pidFile, `${pid}\n`)
    const minuteAgo = Date.now() / 1000 - 60
    utimesSync(pidFile, minuteAgo, minuteAgo)
    expect(await attempt({ signal, pidFile })).toMatch(
      /is stale: it was written \d+ s before process \d+ \('sh'\) was started.*remove it/,
    )
    expect(hups()).toBe(0)
  })

  test('one that names nobody, nothing, or is not there or no file: said, each with what to do', async () => {
    const directory = scratch()
    const pidFile = join(directory, 'app.pid')
    expect(await attempt({ signal, pidFile })).toMatch(/ENOENT.*app\.pid.*does it write one/)
    writeFileSync(pidFile, `${process.pid}`)
    expect(await attempt({ signal, pidFile })).toMatch(/is this reloader.*another pid namespace/)
    writeFileSync(pidFile, `${spawnSync('true').pid}`)
    expect(await attempt({ signal, pidFile })).toMatch(
      /is stale: it names process \d+, and there is none.*shareProcessNamespace/,
    )
    for (const [text, words] of [
      ['', /it is empty/],
      ['nginx', /it holds no pid/],
      ['0', /it holds no pid/],
      ['-1', /it holds no pid/],
      ['1 2', /it holds no pid/],
      ['9'.repeat(100), /it holds no pid/],
    ] as const) {
      writeFileSync(pidFile, text)
      expect(await attempt({ signal, pidFile })).toMatch(words)
    }
  })

  test('when a process was started is known to a fraction of a second', async () => {
    const before = Date.now()
    const { pid } = await listener()
    const process = processOf(pid)
    if (process === undefined) throw new Error('it is gone')
    expect(Math.abs(startedAt(process) - before)).toBeLessThan(2000)
  })
})

describe('by name', () => {
  /** A shell of a name of its own. */
  function shell(name: string): string {
    const path = join(scratch(), name)
    copyFileSync(readlinkSync(`/proc/${spawnShell()}/exe`), path)
    return path
  }

  function spawnShell(): number {
    const child = spawn('/bin/sh', ['-c', 'read line'], { stdio: ['pipe', 'ignore', 'ignore'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child.pid as number
  }

  test('it is sent to the one whose executable has it: of a server and its workers, to the server', async () => {
    const name = 'ib-test-server-of-a-long-name'
    const path = shell(name)
    const worker = "trap 'echo worker' HUP; while :; do sleep 0.01; done"
    const script = `'${path}' -c "${worker}" & '${path}' -c "${worker}" & trap 'echo hup' HUP; echo ready; while :; do wait; done`
    const { hups } = await listener(path, script)
    expect(await attempt({ signal, process: name })).toBe('reload')
    await expect.poll(hups, heard).toBe(1)
  })

  test('two that have nothing to do with each other, and none: said, with what to do', async () => {
    const path = shell('ib-test-twice')
    const [one, two] = [await listener(path), await listener(path)]
    const reason = await attempt({ signal, process: 'ib-test-twice' })
    expect(reason).toMatch(/more than one process is called 'ib-test-twice'.*by its pid or its pid file/)
    for (const { pid, hups } of [one, two]) {
      expect(reason).toContain(String(pid))
      expect(hups()).toBe(0)
    }
    expect(await attempt({ signal, process: 'ib-test-none' })).toMatch(
      /no process is called 'ib-test-none'.*shareProcessNamespace/,
    )
  })

  test('this very process is never meant', () => {
    const comm = processOf(process.pid)?.comm ?? ''
    expect(() => processCalled(comm, [])).toThrow('no process is called')
  })

  test('which process goes by a name', () => {
    const called = (name: string, comm: string, executable?: string) => isCalled(name, comm, executable)
    expect(called('nginx', 'nginx', 'nginx')).toBe(true)
    expect(called('node', 'MainThread', 'node')).toBe(true)
    expect(called('app.py', 'app.py', 'python3.11'), 'a script').toBe(true)
    expect(
      called('prometheus-config-reloader', 'prometheus-conf', undefined),
      'its executable may not be seen',
    ).toBe(true)
    expect(called('prometheus-config-reloader', 'prometheus-conf', 'prometheus-config-checker')).toBe(false)
    expect(called('kworker/0:1', 'kworker/0:1', ''), "a thread of the kernel's").toBe(false)
  })

  test('a name may hold anything, a parenthesis as well', () => {
    const numbers = Array.from({ length: 18 }, (_, n) => n).join(' ')
    expect(parseStat(`12 (a) S 1 (b) R 3 ${numbers.slice(2)} 99 0`)).toMatchObject({
      pid: 12,
      comm: 'a) S 1 (b',
      parent: 3,
      group: 1,
    })
    expect(parseStat('12 (a) Z 3')).toBeUndefined()
  })
})
