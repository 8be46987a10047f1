import { describe, expect, test } from 'vitest'
import { merge } from '../../src/mirror/plan/merge.ts'
import { plan, safeWithout } from '../../src/mirror/plan/plan.ts'
import { danglingLinks, follow, keepReached, keepWithout } from '../../src/mirror/plan/reach.ts'
import type { TargetTree } from '../../src/mirror/plan/tree.ts'
import { file, type Sketch, tree } from './sketch.ts'

// Before a link leads elsewhere or an entry goes, what readers reach by it is there; or the old stays. Whatever a link's place and text
// are, on whatever way it leads, and for whatever reason something is wanting.

const [one, two] = [file('1'), file('2')]

/** The digest of what a reader finds at a path. */
function read(of: TargetTree, path: string): string | undefined {
  const { node } = follow(of, path)
  return node !== undefined && 'digest' in node ? node.digest : undefined
}

function kept(had: Sketch, next: Sketch, wanting: string[], nowhere: string[] = []): TargetTree {
  return keepReached(tree(had), tree(next), [{ wanting: new Set(wanting), nowhere: new Set(nowhere) }])
}

/** Each layout: the old version, the whole new one, the new one as far as it is there, the path that is wanting, and a name in both. */
const LAYOUTS: Record<string, { had: Sketch; whole: Sketch; next: Sketch; wanting: string; name: string }> = {
  'a link to a file': {
    had: { l: 'f1', f1: one },
    whole: { l: 'f2', f2: two },
    next: { l: 'f2' },
    wanting: 'f2',
    name: 'l',
  },
  'a chain of links': {
    had: { l: 'm', m: 'd/n', d: { n: 'f1', f1: one } },
    whole: { l: 'm', m: 'd/n', d: { n: 'f2', f2: two } },
    next: { l: 'm', m: 'd/n', d: { n: 'f2' } },
    wanting: 'd/f2',
    name: 'l',
  },
  'a link to a directory, that of git-sync': {
    had: { current: '.w/1', '.w': { 1: { f: one, sub: { g: one } } } },
    whole: { current: '.w/2', '.w': { 2: { f: two, sub: { g: two } } } },
    next: { current: '.w/2', '.w': { 2: { f: two, sub: {} } } },
    wanting: '.w/2/sub/g',
    name: 'current/sub/g',
  },
  'a directory that is missing altogether': {
    had: { current: 'w1', w1: { f: one } },
    whole: { current: 'w2', w2: { f: two } },
    next: { current: 'w2' },
    wanting: 'w2',
    name: 'current/f',
  },
  'a link through a link in the midst of its way': {
    had: { f: 'current/f', current: 'w1', w1: { f: one } },
    whole: { f: 'current/f', current: 'w2', w2: { f: two } },
    next: { f: 'current/f', current: 'w2', w2: {} },
    wanting: 'w2/f',
    name: 'f',
  },
  'a ConfigMap': {
    had: { '..1': { a: one }, '..data': '..1', a: '..data/a' },
    whole: { '..2': { a: two }, '..data': '..2', a: '..data/a' },
    next: { '..data': '..2', a: '..data/a' },
    wanting: '..2',
    name: 'a',
  },
  "a volume of the kubelet's below the source": {
    had: { v: { '..1': { a: one }, '..data': '..1', a: '..data/a' } },
    whole: { v: { '..2': { a: two }, '..data': '..2', a: '..data/a' } },
    next: { v: { '..2': {}, '..data': '..2', a: '..data/a' } },
    wanting: 'v/..2/a',
    name: 'v/a',
  },
  'a link upwards': {
    had: { d: { e: { l: '../../s/1' } }, s: { 1: one } },
    whole: { d: { e: { l: '../../s/2' } }, s: { 2: two } },
    next: { d: { e: { l: '../../s/2' } }, s: {} },
    wanting: 's/2',
    name: 'd/e/l',
  },
  'a directory whose links lead out of it': {
    had: { current: 'w1', w1: { a: '../s/1' }, s: { 1: one } },
    whole: { current: 'w2', w2: { a: '../s/2' }, s: { 2: two } },
    next: { current: 'w2', w2: { a: '../s/2' }, s: {} },
    wanting: 's/2',
    name: 'current/a',
  },
  'a file that becomes a link': {
    had: { l: one },
    whole: { l: 'd/f', d: { f: two } },
    next: { l: 'd/f', d: {} },
    wanting: 'd/f',
    name: 'l',
  },
  'a directory that becomes a link': {
    had: { l: { f: one } },
    whole: { l: 'w', w: { f: two } },
    next: { l: 'w', w: {} },
    wanting: 'w/f',
    name: 'l/f',
  },
  'a file where the old version has a directory': {
    had: { l: 'd/f', d: { f: one } },
    whole: { l: 'e', d: two, e: two },
    next: { l: 'e', d: two },
    wanting: 'e',
    name: 'l',
  },
}

describe.each(Object.entries(LAYOUTS))('%s', (_, { had, whole, next, wanting, name }) => {
  test('the old stays while something of the new is wanting', () => {
    expect(read(kept(had, next, [wanting]), name)).toBe('1')
  })

  test('the new is there when nothing is, and nothing else', () => {
    expect(kept(had, whole, [])).toEqual(tree(whole))
  })

  test('the old stays while it is not sure that the link leads nowhere', () => {
    const [cut] = danglingLinks(tree(next))
    if (cut !== undefined) expect(read(kept(had, next, []), cut === name ? name : cut)).not.toBe('2')
    if (cut === name) expect(read(kept(had, next, []), name)).toBe('1')
  })

  test('what cannot be put in place leaves the old: at every failure no step takes it away', () => {
    const [from, to] = [tree(had), tree(whole)]
    const steps = plan(from, to)
    for (const step of steps) {
      if (step.do !== 'place') continue
      expect(read(keepWithout(from, to, [step.path], []), name), step.path).toMatch(/[12]/)
      const others = steps.filter((each) => each !== step)
      const safe = safeWithout([step.path], others, from, to, []).map(({ path }) => path)
      const after = keepWithout(from, to, [step.path], [])
      for (const each of others)
        if (each.do === 'remove' && follow(after, each.path).node !== undefined)
          expect(safe).not.toContain(each.path)
    }
  })

  test('neither tree is changed by what is kept', () => {
    const [from, to] = [tree(had), tree(next)]
    keepReached(from, to, [{ wanting: new Set([wanting]), nowhere: new Set() }])
    expect([from, to]).toEqual([tree(had), tree(next)])
  })
})

test('a link that leads nowhere in the source does so in the target, once that is sure', () => {
  const [had, next] = [{ l: 'f', f: one }, { l: 'f' }]
  expect(kept(had, next, [])).toEqual(tree(had))
  expect(kept(had, next, [], ['l'])).toEqual(tree(next))
})

test('a new link waits for what it leads to; one that leads nowhere is published', () => {
  expect(kept({}, { l: 'm', m: 'f' }, ['f'])).toEqual(tree({}))
  expect(kept({}, { l: 'nowhere' }, [])).toEqual(tree({ l: 'nowhere' }))
})

test('a link that was changed while all was read stays, with all that is behind it', () => {
  const had = { current: 'w1', w1: { a: one, b: one } }
  const halfRemoved = { current: 'w1', w1: { a: one } }
  expect(kept(had, halfRemoved, ['current'])).toEqual(tree(had))
})

test('what led over a link that stays goes when that goes on', () => {
  const had = { current: 'w1', w1: { a: one }, a: 'current/a', gone: 'current/a', other: 'w1/a' }
  const next = { current: 'w2', w2: {}, a: 'current/a' }
  expect([...kept(had, next, ['w2/a']).entries.keys()].sort()).toEqual(['a', 'current', 'gone', 'w1', 'w2'])
  expect([...kept(had, next, [], ['a']).entries.keys()].sort()).toEqual(['a', 'current', 'w2'])
})

test('a new link waits for those on its way', () => {
  const had = { current: 'w1', w1: { a: one } }
  const next = { current: 'w2', w2: { new: two }, new: 'current/new' }
  expect(kept(had, next, ['w2/a']).entries.has('new')).toBe(false)
})

test('what the old version has not does not keep it', () => {
  const next = { current: 'w2', w2: { a: two } }
  expect(kept({ current: 'w1', w1: { a: one } }, next, ['w2/log'])).toEqual(tree(next))
})

test('what no link leads to goes, whatever is wanting', () => {
  const next = { l: 'f2', other: two }
  expect([...kept({ l: 'f1', f1: one, gone: one }, next, ['f2']).entries.keys()].sort()).toEqual([
    'f1',
    'l',
    'other',
  ])
})

test('a link of one source to what another has', () => {
  const doubts = { wanting: new Set(['b/2']), nowhere: new Set<string>() }
  const [had, next] = [tree({ l: 'b/1', b: { 1: one } }), tree({ l: 'b/2', b: {} })]
  expect(read(keepReached(had, next, [{ wanting: new Set(), nowhere: new Set() }, doubts]), 'l')).toBe('1')
})

test('links in a circle, and to the root, end', () => {
  const circle = { a: 'b', b: 'a', d: { up: '..' } }
  expect(kept(circle, circle, ['x'])).toEqual(tree(circle))
})

test('a link to the version that waits goes on leading where it led', () => {
  const had = tree({
    '..1': { a: file('x'), p: file('p') },
    '..data': '..1',
    a: '..data/a',
    direct: '..1/a',
    p: '..data/p',
  })
  const { entries } = tree({ a: '..data/a', direct: '..2/a', p: 'd/p', d: {} })
  const generation = { name: '..2', tree: tree({ a: file('y') }) }
  // The new end of `p` cannot be had, so the old version stays.
  const doubts = { wanting: new Set(['d/p']), nowhere: new Set<string>() }
  const source = { source: '/s', entries, generation, isAdopted: false, isLastGood: true, doubts }
  const { tree: merged } = merge([source], had)
  expect(merged.entries.get('direct')).toMatchObject({ to: '..1/a' })
  expect(follow(merged, 'direct').node).toBeDefined()
})
