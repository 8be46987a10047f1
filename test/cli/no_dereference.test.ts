// inotifywait(1), -P: of a path that is a symlink the link is watched, and not what it leads to.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { scratch } from '../support/scratch.ts'
import { MAIN, Run } from './command.ts'

function linked(to: string) {
  const cwd = scratch()
  mkdirSync(join(cwd, 'directory/below'), { recursive: true })
  writeFileSync(join(cwd, 'file'), '')
  symlinkSync(to, join(cwd, 'link'))
  return cwd
}

const touchLink = (cwd: string, time: number) => spawnSync('touch', ['-h', '-d', `@${time}`, 'link'], { cwd })

describe.skipIf(!existsSync(MAIN))('watch -P (needs dist)', () => {
  // Varied: what the link leads to, the source, and what else is watched.
  test.each([
    ['directory', ['-r']],
    ['directory', ['--backend', 'poll', '--interval', '50']],
    ['file', []],
    ['nowhere', ['-r']],
  ])('a link to %s %j: what becomes of it, and of nothing beside or behind it', async (to, options) => {
    const cwd = linked(to)
    const run = await Run.watching(['-m', ...options, '-P', 'link', 'directory/below'], { cwd })
    writeFileSync(join(cwd, 'directory/a'), '')
    writeFileSync(join(cwd, 'file'), 'more')
    writeFileSync(join(cwd, 'beside'), '')
    touchLink(cwd, 1)
    await run.until('stdout', /^link (ATTRIB|MODIFY) $/m)
    writeFileSync(join(cwd, 'directory/below/b'), '')
    await run.until('stdout', /^directory\/below\/ CREATE b$/m)
    rmSync(join(cwd, 'link'))
    await run.until('stdout', /^link DELETE $/m)
    symlinkSync('elsewhere', join(cwd, 'new'))
    renameSync(join(cwd, 'new'), join(cwd, 'link'))
    await run.until('stdout', /^link (MOVED_TO|CREATE) $/m)
    run.kill('SIGTERM')
    const { code, stdout } = await run.ended()
    expect([code, stdout.split('\n').filter((line) => !/^(link|directory\/below\/) |^$/.test(line))]).toEqual(
      [0, []],
    )
  })

  test('with --raw', async () => {
    const cwd = linked('directory')
    const run = await Run.watching(['-m', '--raw', '-P', 'link'], { cwd })
    writeFileSync(join(cwd, 'directory/a'), '')
    touchLink(cwd, 1)
    await run.until('stdout', /IN_ATTRIB/)
    run.kill('SIGTERM')
    expect((await run.ended()).stdout).toMatch(/^link wd=1 IN_ATTRIB cookie=0 \n$/)
  })

  test('a path that is no link is watched as ever, and --follow is refused', async () => {
    const cwd = linked('directory')
    const run = await Run.watching(['--no-dereference', 'directory'], { cwd })
    writeFileSync(join(cwd, 'directory/a'), '')
    expect((await run.ended()).stdout).toContain('directory/ CREATE a')
    expect((await new Run(['watch', '-P', '--follow', 'link'], { cwd }).ended()).code).toBe(2)
  })
})
