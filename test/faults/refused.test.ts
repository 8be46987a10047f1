// The package where a seccomp filter, a sandbox or an emulator refuses a system call to the whole process:
// see refused.mjs.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { compile } from '../support/compile.ts'
import { mayRefuse, refused } from '../support/refused.ts'
import { scratch } from '../support/scratch.ts'
import { CONTROL_BYTES } from './control.mjs'

const isBuilt = existsSync(join(import.meta.dirname, '../../dist/index.js'))
const CHILD = join(import.meta.dirname, 'refused.mjs')

/** The results that polls give as well. */
const GOES_ON = {
  'fs: d': ['change', 'f'],
  'fs: d, recursive': ['change', 'f'],
  'fs: d/f': ['change', 'f'],
  'fs: d/f, recursive': ['change', 'f'],
  chokidar: '/d/f',
  parcel: ['update'],
  mirror: 'mirrored',
  reload: ['f'],
  publishing: ['published', 'value'],
  save: true,
}

describe.skipIf(!isBuilt || !mayRefuse)('where a call is refused (needs dist and seccomp)', () => {
  test('statx(2): all works by fstatat(2)', async () => {
    const judged = (['EPERM', 'ENOSYS', 'EOPNOTSUPP'] as const).map(async (errno) => {
      const said = JSON.parse(await refused(errno, 'statx', CHILD, scratch()))
      const told = { told: expect.any(String), errors: [] }
      for (const backend of ['auto', 'inotify', 'poll'])
        for (const what of ['a tree', 'a file', 'a file to come'])
          expect(said[`${backend}: ${what}`], `${errno}, ${backend}: ${what}`).toMatchObject(told)
      const text = expect.not.stringContaining('refused')
      expect(said, errno).toMatchObject({ ...GOES_ON, diagnose: { text } })
    })
    await Promise.all(judged)
  })

  test.each(['inotify_init1', 'inotify_add_watch'])('%s(2): all is polled, and why is said', async (call) => {
    const judged = (['EPERM', 'EACCES', 'ENOSYS'] as const).map(async (errno) => {
      const said = JSON.parse(await refused(errno, call, CHILD, scratch()))
      const why = expect.stringContaining(`${call}(2) is refused to this process (${errno})`)
      for (const what of ['a tree', 'a file', 'a file to come']) {
        const polled = { told: expect.any(String), backend: 'poll', errors: [] }
        expect(said[`auto: ${what}`], what).toMatchObject({ ...polled, why })
        expect(said[`poll: ${what}`], what).toMatchObject(polled)
        expect(said[`inotify: ${what}`], what).toMatch(
          RegExp(`^failed: ${errno}: .*, ${call} .*${call}\\(2\\) is refused to this process`),
        )
      }
      expect(said, errno).toMatchObject({ ...GOES_ON, diagnose: { backend: 'poll', text: why } })
      expect(said.diagnose.text).toMatch(/Allow inotify_init1\(2\) and inotify_add_watch\(2\)/)
    })
    await Promise.all(judged)
  })

  test.each(['renameat2', 'fsync'])(
    '%s(2) with EPERM: the hint does not leave it at lsattr(1)',
    async (call) => {
      const attempt = `await replaceFile('f', 'x').catch((error) => console.log(error.message))`
      const program = `import { replaceFile } from '${join(import.meta.dirname, '../../dist/publish.js')}'; process.chdir('${scratch()}'); ${attempt}`
      const said = await refused('EPERM', call, '--input-type=module', '-e', program)
      expect(said).toMatch(/^EPERM: .*lsattr.*a seccomp filter refuses the call/)
    },
  )

  test.skipIf(spawnSync('unshare', ['-m', 'true']).status !== 0)(
    'statx(2): an unmounted source of a mirror is lost, and no empty one (needs unshare -m)',
    async () => {
      const words = ['1', 'statx', process.execPath, join(import.meta.dirname, 'refused_unmounted.mjs')]
      const said = execFileSync('unshare', ['-m', compile('seccomp'), ...words, scratch()], { stdio: 'pipe' })
      expect(JSON.parse(`${said}`)).toEqual(['source-lost', expect.arrayContaining(['f'])])
    },
  )
})

test.skipIf(!isBuilt)(
  'a watch of what may be read is refused with EACCES, as by SELinux: that is polled (needs dist)',
  async () => {
    const control = join(scratch(), 'control')
    writeFileSync(control, Buffer.alloc(CONTROL_BYTES))
    const preloaded = { FAULTS: control, LD_PRELOAD: compile('faults', ['-shared', '-fPIC']) }
    const words = [join(import.meta.dirname, 'refused_watches.mjs'), control, scratch()]
    const { stdout } = await promisify(execFile)(process.execPath, words, {
      env: { ...process.env, ...preloaded },
    })
    const refusal = expect.stringMatching(/EACCES.*no security module \(SELinux\) refuses the watch/)
    const whole = { backend: 'poll', uncovered: [refusal], told: ['modify'], errors: [refusal] }
    expect(JSON.parse(stdout)).toEqual({
      'a tree': whole,
      'a directory below': { backend: 'inotify', uncovered: [refusal], told: ['modify'], errors: [] },
      'a file': whole,
      'asked for': refusal,
    })
  },
)
