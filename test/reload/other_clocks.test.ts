// A container's view of the system's clocks: lxcfs lies over files of /proc, and a time namespace has a boot time of its own.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MAIN } from '../cli/command.ts'
import { scratch } from '../support/scratch.ts'

const mayMount = spawnSync('unshare', ['-rm', 'true']).status === 0
const hasTimeNamespaces = spawnSync('unshare', ['-rT', '--boottime', '1000', 'true']).status === 0

/** Has a process signalled by its pid file, in a namespace, and once more when the file is older than the process. */
function stales(...namespace: string[]): Array<number | null> {
  const directory = scratch()
  const child = spawn('sleep', ['1000'])
  onTestFinished(() => void child.kill())
  const pidFile = join(directory, 'pid')
  writeFileSync(pidFile, `${child.pid}`)
  writeFileSync(join(directory, 'uptime'), '2.00 3.00\n')
  writeFileSync(join(directory, 'long'), '999999999.00 3.00\n')
  const reload = [process.execPath, MAIN, 'reload', '--once', pidFile]
  const run = () =>
    spawnSync('unshare', [...namespace, ...reload, '--signal', 'CONT', '--pid-file', pidFile], {
      cwd: directory,
    }).status
  const fresh = run()
  utimesSync(pidFile, 0, Date.now() / 1000 - 60)
  return [fresh, run()]
}

describe.skipIf(!mayMount || !existsSync(MAIN))(
  'a pid file is stale by the clock that processes are started by (needs unshare -rm, and dist)',
  () => {
    // Varied: less than the host's, and more.
    test.each(['uptime', 'long'])('whatever /proc/uptime says: %s', (file) => {
      const over = `mount --bind ${file} /proc/uptime && exec "$@"`
      expect(stales('-rm', 'sh', '-c', over, 'sh')).toEqual([0, 1])
    })

    test('and /proc/stat', () => {
      const over = 'sed "s/^btime.*/btime 1/" /proc/stat > stat; mount --bind stat /proc/stat && exec "$@"'
      expect(stales('-rm', 'sh', '-c', over, 'sh')).toEqual([0, 1])
    })

    test.skipIf(!hasTimeNamespaces).each(['100000', '-1'])('in a time namespace %s s away', (seconds) => {
      expect(stales('-rT', '--fork', '--boottime', seconds)).toEqual([0, 1])
    })
  },
)
