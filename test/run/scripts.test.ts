// Every script of test/scripts, played on a FUSE mount: a reader under run is told what a plain one is. Behind the mount the plain one
// reads the source itself; through the mount both read the mount.
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { IN_EXCL_UNLINK } from '../../src/inotify/constants.ts'
import { parse, type Script, type Step } from '../scripts/parse.ts'
import { open, perform } from '../scripts/play.ts'
import { bytesOf } from '../scripts/words.ts'
import { compile } from '../support/compile.ts'
import { isLong } from '../support/long.ts'
import { Comparison } from './comparison.ts'
import { Mounted, mayMount, RawReader } from './raw_reader.ts'
import { isThrough, reasonFor } from './scripts_differ.ts'
import { isRoot } from './served.ts'

// Operations of test/scripts that a watcher of this package carries out.
const NOT_BY_A_PROGRAM = /^(add|remove|pause) /
const NOT_BY_BINDFS = /^(exchange|tmpfile|whiteout) /
const directory = join(import.meta.dirname, '../scripts/testdata')
const scripts = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.txt'))
  .sort()
  .filter((_, n) => isLong || n % 9 === 0)
  .map((file) => parse(readFileSync(join(directory, file), 'utf8'), file.slice(0, -'.txt'.length)))

describe.each(['behind', 'through'] as const)(
  '%s a mount (needs npm run build, bindfs, /dev/fuse, unshare -rm)',
  (way) => {
    const places = { plain: '', served: '', own: '', back: '' }
    let mounted: Mounted
    let plain: RawReader
    let served: RawReader

    beforeAll(async () => {
      if (!mayMount) return
      mounted = new Mounted(5)
      served = mounted.served
      const inside = await mounted.inside()
      const { back, front } = mounted
      plain = way === 'behind' ? new RawReader([compile('run_reader')]) : mounted.plain()
      const [of, own] = way === 'behind' ? [back, back] : [front, inside]
      Object.assign(places, { served: front, plain: of, own, back })
    })
    afterAll(async () => {
      await plain?.end()
      await mounted?.end()
    })

    test.skipIf(!mayMount || way === 'behind').each([
      ['', 0],
      [', IN_EXCL_UNLINK', IN_EXCL_UNLINK],
    ])('each of many changes once, while looks are made%s', async (_, flags) => {
      const many = `many${flags}`
      const here = join(places.own, many)
      for (const path of [here, join(here, 'mark')]) mkdirSync(path, { recursive: true })
      const comparison = new Comparison({ plain, served }, places, flags)
      await comparison.mark(join(many, 'mark'))
      await comparison.watch(Buffer.from(here), false)
      for (let i = 0; i < (isLong ? 20 : 5); i++) {
        for (let j = 0; j < 200; j++) {
          const path = join(here, String(j))
          writeFileSync(path, 'one')
          appendFileSync(path, 'two')
          chmodSync(path, 0o600)
          renameSync(path, join(here, `${j}.old`))
          if (j % 2 === 0) rmSync(join(here, `${j}.old`))
        }
        const told = await comparison.told()
        expect(told.served).toEqual(told.plain)
      }
    })

    for (const [n, script] of scripts.entries())
      test.skipIf(!mayMount || !isPlayed(script, way))(script.file, async () => {
        const flags = n % 2 ? IN_EXCL_UNLINK : 0
        const mayBeUnhashed = way === 'through' && flags !== 0
        for (let plays = 0; plays < 3; plays++)
          if (await play(script, `${n}.${plays}`, flags, mayBeUnhashed && plays < 2)) break
      })

    /** Plays the script. Returns false if it is to be played again, as the kernel may have taken a file for unlinked. */
    async function play(script: Script, name: string, flags: number, mayBeUnhashed: boolean) {
      const base = join(places.own, name)
      const here = join(base, 'here')
      for (const path of [here, join(base, 'mark')]) mkdirSync(path, { recursive: true })
      const world = open(here)
      for (const step of script.setUp) await perform(step, world, script.file)
      const comparison = new Comparison({ plain, served }, places, flags)
      await comparison.mark(join(name, 'mark'))
      const watch = async () => {
        for (const { text } of script.watch.roots)
          await comparison.watch(bytesOf(join(here, text)), script.watch.recursive)
      }
      await watch()
      for (const steps of blocksOf(script, way)) {
        for (const step of steps) await perform(step, world, script.file)
        const told = await comparison.told()
        const where = `${script.file}:${steps.map(({ line, text }) => `${line} ${text}`).join()}`
        const why = steps.flatMap(({ line }) => reasonFor(script.file, line) ?? [])
        if (way === 'behind' && why.length > 0)
          expect(told.served, `${where}: no exception any more (${why})`).not.toEqual(told.plain)
        else if (!why.some(isThrough)) {
          if (mayBeUnhashed && hasMore(told.served, told.plain)) return false
          expect(told.served, where).toEqual(told.plain)
        }
        if (script.watch.recursive) await watch()
      }
      rmSync(join(places.back, name), { recursive: true })
      return true
    }
  },
)

/**
 * True if `more` has all lines of `fewer`, in order, and others of open files besides. A look at a name beside a change of the name may make FUSE give up
 * a dentry that is in use (fuse_dentry_revalidate), and the kernel then takes the open file for unlinked: IN_EXCL_UNLINK keeps its events from the plain reader.
 */
function hasMore(more: string[], fewer: string[]): boolean {
  const others: string[] = []
  let i = 0
  for (const line of more)
    if (line === fewer[i]) i++
    else others.push(line)
  return (
    others.length > 0 &&
    i === fewer.length &&
    others.every((line) => / (MODIFY|CLOSE_WRITE|ATTRIB) /.test(line))
  )
}

const isPlayed = ({ only, blocks }: Script, way: string) =>
  only.every(({ who }) => who === 'inotify' || who === 'poll' || (who === 'root') === isRoot) &&
  (way === 'behind' || !blocks.some(({ steps }) => steps.some(({ text }) => NOT_BY_BINDFS.test(text))))

/** Steps that follow each other without waiting. Behind a mount there is one at a time: a look finds no more than the result. */
function blocksOf({ blocks }: Script, way: string): Step[][] {
  const all = blocks.map(({ steps }) => steps.filter(({ text }) => !NOT_BY_A_PROGRAM.test(text)))
  return way === 'through' ? all : all.flat().map((step) => [step])
}
