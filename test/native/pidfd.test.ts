import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { loadAddon } from '../../src/addon.ts'

const { pidfdOpen, pidfdSend, pidfdClose } = loadAddon()
const { EBADF, EINVAL, ESRCH } = constants.errno

test('a descriptor stands for one process, and is closed on exec', async () => {
  const child = spawn('sleep', ['60'])
  onTestFinished(() => void child.kill('SIGKILL'))
  const fd = pidfdOpen(child.pid as number)
  expect(fd).toBeGreaterThan(2)
  // O_CLOEXEC is 02000000: proc_pid_fdinfo(5).
  expect(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')).toMatch(/^flags:\t02\d{6}$/m)
  expect(pidfdSend(fd, 0)).toBe(0)
  expect(pidfdSend(fd, constants.signals.SIGTERM)).toBe(0)
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
  expect(pidfdSend(fd, 0), 'when it has been waited for').toBe(-ESRCH)
  pidfdClose(fd)
  expect(existsSync(`/proc/self/fdinfo/${fd}`)).toBe(false)
})

test('what stands for no process is an errno', () => {
  expect(pidfdOpen(spawnSync('true').pid)).toBe(-ESRCH)
  for (const pid of [0, -1, -process.pid]) expect(pidfdOpen(pid)).toBe(-EINVAL)
  expect(pidfdSend(-1, 0)).toBe(-EBADF)
  expect(pidfdSend(0, 0)).toBeLessThan(0)
  // Nothing that is no number is anything.
  const { open, send } = {
    open: pidfdOpen as (pid: unknown) => number,
    send: pidfdSend as (...all: unknown[]) => number,
  }
  expect([open(undefined), open('1'), send(), send('1', 'a')]).toEqual([-EINVAL, -EINVAL, -EBADF, -EBADF])
})
