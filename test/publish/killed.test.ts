// kill -9 at any moment: what is there is old or new, never a mix, and the next call leaves nothing of the killed one behind.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { moveFile, publishDirectory, replaceFile } from '../../src/index.ts'
import { rounds } from '../support/long.ts'
import { scratch } from '../support/scratch.ts'
import { stop } from '../support/stopped.ts'

const isBuilt = existsSync(join(import.meta.dirname, '../../out/publish/publish.js'))
const KILLS = rounds(process.env.KILLS, { quick: 12, long: 20 })
/** Started ahead, since that takes longer than what they do until they are killed. */
const AHEAD = 3
const content = (n: number) => String(n).padStart(8, '0').repeat(8192)

/** The version that a file has; fails if it is no whole one. */
function versionOf(path: string): number {
  const found = readFileSync(path, 'utf8')
  expect(found.length, path).toBe(65_536)
  expect(found === found.slice(0, 8).repeat(8192), `${path} is of one version`).toBe(true)
  return Number(found.slice(0, 8))
}

test.skipIf(!isBuilt)(
  `killed ${KILLS} times at any moment: old or new, and the next call cleans up (needs dist)`,
  async () => {
    const [home, elsewhere] = [scratch(existsSync('/dev/shm') ? '/dev/shm' : tmpdir()), scratch('/tmp')]
    const crosses = statSync(home).dev !== statSync(elsewhere).dev
    const path = (name: string) => join(home, name)
    const source = join(elsewhere, 'source')
    for (const name of ['replaced', 'moved', 'linked']) mkdirSync(path(name))
    let version = 0
    const left = { replace: 0, move: 0, link: 0, publish: 0 }

    /** Calls each function once more, and asserts that it leaves nothing behind. */
    async function next() {
      version += 1
      await replaceFile(path('replaced/file'), content(version))
      expect(readdirSync(path('replaced'))).toEqual(['file'])
      if (existsSync(source)) await moveFile(source, path('moved/file'))
      writeFileSync(source, content(version))
      expect(await moveFile(source, path('moved/file'))).toEqual({ crossedMounts: crosses })
      expect(readdirSync(path('moved'))).toEqual(['file'])
      expect(existsSync(source)).toBe(false)
      for (const each of ['link', 'link.new']) rmSync(join(elsewhere, each), { force: true })
      symlinkSync(String(version), join(elsewhere, 'link'))
      await moveFile(join(elsewhere, 'link'), path('linked/link'))
      expect(readdirSync(path('linked'))).toEqual(['link'])
      const files = {
        a: content(version),
        'sub/b': content(version),
        [`only${version % 3}`]: content(version),
      }
      expect(await publishDirectory(path('published'), files)).toEqual({ changed: true })
      const data = readlinkSync(path('published/..data'))
      expect(readdirSync(path('published')).sort()).toEqual(
        ['..data', data, 'a', `only${version % 3}`, 'sub'].sort(),
      )
    }

    function check(said: string) {
      const last = (what: string) =>
        Number(said.match(new RegExp(`^${what} \\d+$(?![^]*^${what} )`, 'm'))?.[0].split(' ')[1] ?? version)
      const replaced = versionOf(path('replaced/file'))
      expect(replaced - last('replace'), 'done is done').toBeOneOf([0, 1])

      const moved = versionOf(path('moved/file'))
      const [made, done] = [last('made'), last('move')]
      if (existsSync(source)) expect(versionOf(source)).toBeGreaterThanOrEqual(made)
      else expect(moved, 'what was moved is nowhere').toBeGreaterThanOrEqual(made)
      expect(moved).toBeGreaterThanOrEqual(done)

      const linked = Number(readlinkSync(path('linked/link')))
      expect(linked - last('link'), 'done is done').toBeOneOf([0, 1])

      const [a, b] = [versionOf(path('published/a')), versionOf(path('published/sub/b'))]
      expect(a, 'one version of all keys').toBe(b)
      expect(a - last('publish')).toBeOneOf([0, 1])
      for (const [what, count] of Object.entries(leftIn(home))) left[what as keyof typeof left] += count
      version = Math.max(version, replaced, moved, linked, a)
    }

    await next()
    const children = Array.from({ length: AHEAD }, () => begin(home, elsewhere))
    for (let round = 0; round < KILLS; round++) {
      const { child, ready, output } = children.shift() ?? begin(home, elsewhere)
      if (round + children.length + 1 < KILLS) children.push(begin(home, elsewhere))
      const exited = once(child, 'exit')
      await ready
      const begun = once(child.stdout, 'data')
      child.stdin.write(`${version + 1}\n`)
      // In its first calls, which take longest, or in later ones.
      if (round % 3 > 0) await begun
      await setTimeout(Math.random() * 25)
      // The scheduler decides what a kill hits: one in three waits until a call is in the midst.
      if (round % 3 === 2)
        await stopInTheMidst(child, () => Object.values(leftIn(home)).some((count) => count > 0))
      child.kill('SIGKILL')
      await exited
      check(await output)
      await next()
    }
    // Some kills must have hit a call in the midst.
    if (KILLS >= 3) expect(left.replace + left.move + left.link + left.publish).toBeGreaterThan(0)
    if (process.env.KILLS !== undefined) console.info(`leftovers cleaned up: ${JSON.stringify(left)}`)
  },
)

/** Counts the names that are gone when all is done, by the function that makes them. */
function leftIn(home: string): Record<'replace' | 'move' | 'link' | 'publish', number> {
  const surplus = (directory: string) => readdirSync(join(home, directory)).length - 1
  const versions = readdirSync(join(home, 'published')).filter((name) => /^\.\.\d/.test(name))
  return {
    replace: surplus('replaced'),
    move: surplus('moved'),
    link: surplus('linked'),
    publish: versions.length - 1,
  }
}

/** Stops it, all its threads, wherever it is, until that is in the midst of what it does; or has tried for so often that it never is. */
async function stopInTheMidst(child: ChildProcess, isIt: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    await stop(child)
    if (isIt()) return
    child.kill('SIGCONT')
    await setTimeout(Math.random() * 5)
  }
}

function begin(home: string, elsewhere: string) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'killed.mjs'), home, elsewhere], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => end(child))
  child.stdin.on('error', () => {})
  return { child, ready: once(child.stdout, 'data'), output: text(child.stdout) }
}

function end(child: ChildProcess): void {
  child.kill('SIGKILL')
}
