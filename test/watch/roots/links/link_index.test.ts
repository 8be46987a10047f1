// Links share their hops. The results of their events are compared with those of PathWatches for the whole
// way of each link.
import { basename } from 'node:path'
import { expect, test } from 'vitest'
import {
  IN_ATTRIB,
  IN_CREATE,
  IN_DELETE,
  IN_IGNORED,
  IN_MODIFY,
  IN_MOVE_SELF,
  InotifyError,
} from '../../../../src/index.ts'
import { FollowedLink } from '../../../../src/watch/roots/links/followed_link.ts'
import { hintsForLinks, LinkIndex } from '../../../../src/watch/roots/links/link_index.ts'
import { type Hint, PathWatches } from '../../../../src/watch/roots/path_watches.ts'
import { type Adding, PathWatchCache, type Way, watchWays } from '../../../../src/watch/roots/ways.ts'
import { Directory, WatchedMount } from '../../../../src/watch/tree/directory.ts'
import { batchOf, type Event } from '../../events/batches.ts'
import { randomFrom } from '../../support.ts'
import { type Owner, setWatches } from '../owner.ts'

const DIRECTORIES = ['/', '/t', '/t/a', '/t/b', '/out', '/out/o', '/out/o/p']
const NAMES = ['f', 'g', 'a', 'o', 'l']
const PARENT = new Directory('/t', 1, new WatchedMount({ backend: 'inotify', why: '' }, 1))

/**
 * Returns watches for directories. Some directories are missing and some are refused, and a directory that is
 * made anew has a new watch.
 */
function inodes(random: (n: number) => number) {
  const wds = new Map<string, number>()
  let last = 0
  const renew = (path: string) => wds.set(path, ++last)
  for (const path of DIRECTORIES) renew(path)
  const adding: Adding = {
    add: (path) => {
      const wd = wds.get(path.toString())
      if (wd === undefined) throw new InotifyError({ errno: 'ENOENT', syscall: 'inotify_add_watch', path })
      if (wd < 0) throw new InotifyError({ errno: 'ENOSPC', syscall: 'inotify_add_watch', path })
      return wd
    },
  }
  return {
    adding,
    renew,
    next: () => ++last,
    forget: (wd: number) => {
      for (const [path, each] of wds) if (each === wd) wds.delete(path)
    },
    get last() {
      return last
    },
    change: () => {
      const path = DIRECTORIES[random(DIRECTORIES.length)] as string
      const kind = random(4)
      if (kind === 0) wds.delete(path)
      else if (kind === 1) wds.set(path, -1)
      else renew(path)
    },
  }
}

/** Returns a way that many links may share, as a function of the names of the link and of its end. */
function anyWay(random: (n: number) => number): (name: string, end: string) => Way {
  const pick = <T>(some: readonly T[]) => some[random(some.length)] as T
  const below = (directory: string, name: string) => `${directory === '/' ? '' : directory}/${name}`
  const at = pick(DIRECTORIES.slice(0, 3))
  const into = pick(DIRECTORIES)
  const turn = () => below(pick(DIRECTORIES), pick(NAMES))
  const before = random(6) === 0 ? [turn()] : []
  const behind = random(4) === 0 ? [turn()] : []
  const left = random(8) === 0 ? [turn()] : []
  // The path of the link's directory may lead elsewhere.
  const real = random(6) === 0 ? pick(DIRECTORIES) : at
  const strange = random(16)
  return (name, end) => {
    const path = below(at, name)
    const own = below(real, name)
    // These ways occur while links change.
    const realPath = strange === 1 ? below(path, end) : strange === 2 ? own : below(into, end)
    if (strange === 3) return { path, realPath: path, links: [], left: [] }
    const turns = strange === 4 ? [realPath] : strange === 5 ? [below(own, end)] : []
    const links = [...before, own, ...behind, ...turns].map((each) => ({ path: each, to: '' }))
    return { path, realPath, links, left: strange === 6 ? [realPath] : left }
  }
}

test.each(Array.from({ length: 100 }, (_, i) => i + 1))(
  'events and watches, as of whole ways (%i)',
  (seed) => {
    const random = randomFrom(seed)
    const known = inodes(random)
    const watches = new PathWatches()
    const index = new LinkIndex(watches)
    const expected = new PathWatches()
    const whole = new Map<FollowedLink, Owner>()
    const wholeOf = (link: FollowedLink) => {
      const watcher = whole.get(link) ?? { watched: [] }
      whole.set(link, watcher)
      return watcher
    }
    const links = Array.from({ length: 12 }, () => new FollowedLink(PARENT, ''))
    const owns = new Map<FollowedLink, number>()
    for (let step = 0; step < 60; step++) {
      if (random(6) === 0) known.change()
      const left: number[] = []
      const goes: number[] = []
      const ways = [anyWay(random), anyWay(random)]
      // Several links at once, as the watcher follows them.
      for (const link of links.filter(() => random(3) === 0)) {
        if (random(5) === 0) {
          left.push(...index.set(link, undefined))
          goes.push(...setWatches(expected, wholeOf(link), []))
          owns.delete(link)
          continue
        }
        const anyName = () => NAMES[random(NAMES.length)] as string
        const way = (ways[random(2)] as (typeof ways)[0])(anyName(), anyName())
        const own =
          random(3) === 0
            ? (owns.get(link) ?? 0)
            : random(2) === 0
              ? known.next()
              : (pickOwn(owns, random) ?? 0)
        if (own > 0) owns.set(link, own)
        else owns.delete(link)
        const along = watchWays(way, true, new PathWatchCache(known.adding))
        const names = { watchedAs: basename(way.path), end: basename(way.realPath), own }
        left.push(...index.set(link, index.hopsOf(way, along), names))
        goes.push(...setWatches(expected, wholeOf(link), along.watched, own))
      }
      const still = (known: { has(wd: number): boolean }, wds: number[]) =>
        new Set(wds.filter((wd) => !known.has(wd)))
      expect(still(watches, left)).toEqual(still(expected, goes))
      const wds = Array.from({ length: known.last + 1 }, (_, wd) => wd)
      expect(wds.filter((wd) => watches.has(wd))).toEqual(wds.filter((wd) => expected.has(wd)))

      const events = Array.from({ length: random(4) }, (): Event => {
        const mask = [IN_CREATE, IN_DELETE, IN_MODIFY, IN_ATTRIB, IN_MOVE_SELF, IN_IGNORED][
          random(6)
        ] as number
        const isItself = mask === IN_MOVE_SELF || mask === IN_IGNORED || random(4) === 0
        return [1 + random(known.last), mask, isItself ? '' : (NAMES[random(NAMES.length)] as string)]
      })
      const batch = batchOf(events)
      const inOrder = (hints: ReadonlyMap<FollowedLink, Hint>) =>
        links.map((link) => hints.get(link) ?? { all: 0, own: 0 })
      const told = hintsForLinks(watches.collect(batch, 0, events.length))
      const hints = expected.collect(batch, 0, events.length)
      const ofWhole = links.flatMap((link) => {
        const hint = hints.get(wholeOf(link))
        return hint === undefined ? [] : [[link, hint] as const]
      })
      expect(inOrder(told), JSON.stringify(events)).toEqual(inOrder(new Map(ofWhole)))
      // The kernel never reuses a wd: a directory that lost its watch has a new wd when it is watched again.
      for (const [wd, mask] of events) {
        if (mask !== IN_IGNORED) continue
        known.forget(wd)
        for (const [link, own] of owns) if (own === wd) owns.delete(link)
      }
    }
    for (const link of links) index.set(link, undefined)
    expect(Array.from({ length: known.last + 1 }, (_, wd) => watches.has(wd))).not.toContain(true)
  },
)

function pickOwn(owns: ReadonlyMap<FollowedLink, number>, random: (n: number) => number): number | undefined {
  return [...owns.values()][random(owns.size || 1)]
}

/** Returns the way of a link that lies at `own`. */
function wayOf(path: string, realPath: string, own = path, left: string[] = [], behind: string[] = []): Way {
  return { path, realPath, links: [own, ...behind].map((each) => ({ path: each, to: '' })), left }
}

test('links of one directory into another share their hops', () => {
  const { adding } = inodes(randomFrom(1))
  const index = new LinkIndex(new PathWatches())
  const hopsOf = (way: Way) => {
    const hops = index.hopsOf(way, watchWays(way, true, new PathWatchCache(adding)))
    index.set(new FollowedLink(PARENT, ''), hops)
    return hops
  }
  const first = hopsOf(wayOf('/t/a/l', '/out/o/f'))
  expect(hopsOf(wayOf('/t/a/f', '/out/o/g'))).toBe(first)
  expect(hopsOf(wayOf('/t/a/l', '/out/f', '/t/b/l', ['/x']))).toBe(
    hopsOf(wayOf('/t/a/g', '/out/g', '/t/b/g', ['/x'])),
  )
  for (const other of [
    wayOf('/t/b/l', '/out/o/f'),
    wayOf('/t/a/l', '/out/f'),
    wayOf('/t/a/l', '/out/o/f', '/t/b/l'),
    wayOf('/t/a/l', '/out/o/f', '/t/a/l', [], ['/out/l']),
    wayOf('/t/a/l', '/out/o/f', '/t/a/l', ['/out/o/p']),
  ])
    expect(hopsOf(other)).not.toBe(first)
})

test('hops are known while links have them, by the same watches', () => {
  const known = inodes(randomFrom(1))
  const index = new LinkIndex(new PathWatches())
  const way: Way = { path: '/t/a/l', realPath: '/out/f', links: [{ path: '/t/a/l', to: '' }], left: [] }
  const link = new FollowedLink(PARENT, 'l')
  const set = () => {
    const hops = index.hopsOf(way, watchWays(way, true, new PathWatchCache(known.adding)))
    const isKnown = hops.links.has(link)
    index.set(link, hops)
    return isKnown
  }
  expect([set(), set()]).toEqual([false, true])
  known.renew('/out')
  expect([set(), set()]).toEqual([false, true])
  index.set(link, undefined)
  expect([set(), set()]).toEqual([false, true])
})
