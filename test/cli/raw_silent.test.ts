// watch --raw on a mount that delivers no events: what others change comes as events of the kernel, by the supervisor of `run`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { mayUnshare } from '../mounts/namespace.ts'
import { obstacle } from '../run/served.ts'
import { compile } from '../support/compile.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN, Program, Run } from './command.ts'
import { mayServeFuse, silentMount } from './in_place.ts'

const missing = obstacle || (mayServeFuse && mayUnshare ? '' : 'needs /dev/fuse and unshare -rm')

/** `watch --raw` of a FUSE mount that can be changed behind it, with words before it. */
function watching(flags: readonly string[], before: readonly string[] = []) {
  const { back, front, wrap } = silentMount()
  const argv = [process.execPath, MAIN, 'watch', '--raw', '-e', 'create,close_write', ...flags, front]
  const [file = '', ...args] = wrap([...before, ...argv])
  const run = new Program(file, args)
  onTestFinished(() => run.kill('SIGTERM'))
  return { back, front, run }
}

describe.skipIf(missing !== '')(`watch --raw on FUSE, changed behind it${missing && ` (${missing})`}`, () => {
  test('each change is told, until SIGTERM', async () => {
    const { back, front, run } = watching(['-m', '--interval', '20'])
    await run.until('stderr', /^inotify-bridge watch: Watches established: 1\n$/)
    writeFileSync(join(back, 'new'), '')
    await run.until('stdout', /CLOSE_WRITE/)
    expect(run.lines).toEqual([
      `${front} wd=1 IN_CREATE cookie=0 new`,
      `${front} wd=1 IN_CLOSE_WRITE cookie=0 new`,
    ])
    run.kill('SIGTERM')
    expect(await run.ended()).toMatchObject({ code: 0, signal: null })
  })

  test('without -m the first ends it; --json', async () => {
    const { back, front, run } = watching(['--interval', '20', '--json', '-q'])
    await expect
      .poll(() => {
        writeFileSync(join(back, String(Math.random())), '')
        return run.stdout
      })
      .toContain(`"events":"IN_CREATE","path":"${front}"`)
    expect(await run.ended()).toMatchObject({ code: 0, stderr: '' })
  })

  test('--backend inotify: the kernel alone, which has nothing to tell', async () => {
    const { back, run } = watching(['--backend', 'inotify', '-t', '1'])
    await run.until('stderr', /Watches established/)
    writeFileSync(join(back, 'new'), '')
    expect(await run.ended()).toMatchObject({ code: 1, stdout: '' })
    expect(run.stderr).toMatch(/no event within 1 s\n$/)
  })

  test('where run cannot be a line says so, and it goes on', async () => {
    const { front, run } = watching(['-t', '1'], [compile('seccomp'), '38', 'seccomp'])
    expect(await run.ended()).toMatchObject({ code: 1, stdout: '' })
    const [warning, established] = run.stderr.split('\n')
    expect(warning).toMatch(
      `inotify-bridge watch: warning: what others change on ${front} may not be told: the kernel refuses a seccomp filter`,
    )
    expect(established).toBe('inotify-bridge watch: Watches established: 1')
  })
})

test.skipIf(obstacle !== '')(
  `on a mount that delivers all --backend poll alone has a supervisor${obstacle && ` (${obstacle})`}`,
  async () => {
    // Within another it is refused one, and says so.
    const seen = async (...flags: string[]) => {
      const run = new Run([
        'run',
        '--',
        process.execPath,
        MAIN,
        'watch',
        '--raw',
        '-t',
        '1',
        ...flags,
        scratch(),
      ])
      await run.ended()
      return run.stderr
    }
    expect(await seen()).not.toContain('warning')
    expect(await seen('--backend', 'poll')).toContain('warning: what others change')
  },
)
