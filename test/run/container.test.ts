// `run` as an ordinary container has it: uid 65534, no capabilities, no_new_privs, what the default profiles refuse, a root that is read-only; a FUSE mount that is
// another's, and is changed behind it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../mirror/fuse_mount.mjs'
import { compile } from '../support/compile.ts'
import { forAll, isRoot, obstacle, Served } from './served.ts'

const missing =
  obstacle ||
  (!isRoot || !existsSync('/dev/fuse')
    ? 'needs root and FUSE'
    : spawnSync('bindfs', ['--version']).status !== 0
      ? 'needs bindfs'
      : '')

test.skipIf(missing !== '')(
  `what is changed behind the mount is heard${missing && ` (${missing})`}`,
  async () => {
    const { place, run, load } = forAll()
    const [back, front] = [join(place, 'back'), join(place, 'front')]
    for (const directory of [back, front, join(back, '0'), join(back, '1'), join(back, '2')])
      mkdirSync(directory)
    mkdirSync(join(back, '3'), { mode: 0o700 })
    // bindfs asks for allow_other where root starts it.
    const server = await serve(['bindfs', '-f', back, front], front)
    onTestFinished(() => void spawnSync('umount', ['-l', front]))
    expect(server.exitCode).toBe(null)
    const inside = [
      'unshare',
      '-m',
      'sh',
      '-c',
      'mount -o remount,bind,ro / && exec "$@"',
      'sh',
      compile('restricted'),
    ]
    const watches = (number: string) => [load, 'watches', front, number, '3']
    const program = new Served([...inside, '/', run, '--interval', '20', '--', ...watches('3')])
    await program.line('ready')
    for (const number of [0, 1, 2]) writeFileSync(join(back, String(number), 'new'), '')
    for (const number of [0, 1, 2]) await program.line(`${number} new`)
    expect(program.lines).toHaveLength(4)
    expect(await program.end()).toBe(0)
    // As inotify_add_watch(2) has it.
    const refused = new Served([...inside, '/', run, '--', ...watches('4')])
    expect(await refused.end()).toBe(1)
    expect(refused.lines).toEqual([`${front}/3: Permission denied`])
  },
)
