// The command's own promise: a program that nobody has changed sees what changes behind a silent mount.
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { mayUnshare } from '../mounts/namespace.ts'
import { AS_NOBODY, isRoot } from '../support/others.ts'
import { scratch } from '../support/scratch.ts'
import { MAIN } from './command.ts'
import { hasInotifywait, InPlaceRun, mayServeFuse, RIGHTS, silentMount } from './in_place.ts'

describe.skipIf(!mayUnshare || !mayServeFuse)(
  'over a FUSE mount that changes unseen (needs unshare -rm and /dev/fuse)',
  () => {
    /** `inotifywait -m SOURCE`, and what it prints of a swap and of a file that appear behind the mount. */
    async function seesSwap(
      who: readonly string[],
      wrapping?: { namespaces: readonly string[]; who: string },
    ) {
      const { back, front, wrap } = silentMount()
      await atomicWrite(back, { 'app.yaml': 'one' })
      const watching = ['inotifywait', '-m', '-e', 'moved_to', '--format', '%w%f', front]
      const bridge = [
        process.execPath,
        MAIN,
        'mirror',
        '--interval',
        '20',
        '--quiet',
        '0',
        front,
        '--in-place',
        '--',
      ]
      const [program = '', ...argv] = wrap([...who, ...bridge, ...watching], wrapping)
      const run = new InPlaceRun(program, argv)
      await run.until('stderr', /Watches established/)
      await atomicWrite(back, { 'app.yaml': 'two' })
      await run.until('stdout', /\.\.data\n/)
      writeFileSync(join(back, 'beside'), 'new', { mode: 0o644 })
      await run.until('stdout', /beside\n/)
      expect(run.lines).toEqual(expect.arrayContaining([join(front, '..data'), join(front, 'beside')]))
      run.kill('SIGTERM')
      expect(await run.ended()).toMatchObject({ code: null, signal: 'SIGTERM' })
    }

    test.skipIf(!hasInotifywait).each(['administrator', 'user'] as const)(
      "inotifywait -m sees the swap's MOVED_TO, run by: %s (needs inotifywait)",
      (rights) => seesSwap(RIGHTS[rights]),
    )

    test.skipIf(!hasInotifywait || !isRoot)(
      'run by user 65534 of the system (needs inotifywait and root)',
      () =>
        seesSwap(['setpriv', ...AS_NOBODY], {
          namespaces: ['-m'],
          who: 'allow_other',
        }),
    )

    test.skipIf(!hasInotifywait)(
      'not without --in-place: the mount is silent (needs inotifywait)',
      async () => {
        const { back, front, wrap } = silentMount()
        await atomicWrite(back, { 'app.yaml': 'one' })
        const marks = scratch()
        chmodSync(marks, 0o777)
        const [program = '', ...argv] = wrap(['inotifywait', '-m', '--format', '%w%f', front, marks])
        const run = new InPlaceRun(program, argv)
        await run.until('stderr', /Watches established/)
        await atomicWrite(back, { 'app.yaml': 'two' })
        writeFileSync(join(marks, 'mark'), '')
        await run.until('stdout', /mark\n/)
        expect(run.stdout).not.toContain(front)
      },
    )
  },
)
