// Nothing is linked to, and nothing is removed, before what a link or a reader needs is in place: played on trees, step by step, with whatever could not be
// read of the source, put in place or removed. test/mirror/model plays the same on file systems.
import { expect, test } from 'vitest'
import { plan, type Step, safeWithout } from '../../src/mirror/plan/plan.ts'
import { type Doubts, danglingLinks, follow, keepReached, linksIn } from '../../src/mirror/plan/reach.ts'
import { nodeAt, type TargetNode, type TargetTree } from '../../src/mirror/plan/tree.ts'
import { rounds } from '../support/long.ts'
import { Choice } from './model/random.mjs'
import { file, type Sketch, tree } from './sketch.ts'

const ROUNDS = rounds(process.env.ROUNDS, { quick: 50, long: 500 })

/** A volume of the AtomicWriter's. Some of its keys have become files or links beside it. */
function volume(version: number, choice: Choice): Sketch {
  const keys = ['a', 'b', 'c']
  const inside = choice.some(keys, 75)
  const directory = { n: { f: file(`n${version}`) }, ...contents(inside, version) }
  const beside = choice
    .some(keys, 30)
    .map((key): [string, Sketch[string]] => [key, choice.isLikely(50) ? file(`flat${version}`) : 'own'])
  return {
    own: file(`own${version}`),
    [`..${version}`]: directory,
    '..data': `..${version}`,
    n: '..data/n',
    ...Object.fromEntries(inside.map((key) => [key, `..data/${key}`])),
    ...Object.fromEntries(beside),
  }
}

function contents(names: readonly string[], version: number): Sketch {
  return Object.fromEntries(names.map((name) => [name, file(`${name}${version}`)]))
}

const PARTS = ['map', 'vol', 'tree', 'cert'] as const
const FIRST: Record<(typeof PARTS)[number], number> = { map: 0, vol: 0, tree: 0, cert: 0 }

/** A source, each part of it in a version of its own. */
function sourceOf(versions: typeof FIRST, seed: number): Sketch {
  const { map, vol, tree: worktree, cert } = versions
  return {
    ...volume(map, new Choice(seed + map)),
    vol: volume(vol, new Choice(seed - vol)),
    '.trees': {
      [worktree]: {
        f: file(`t${worktree}`),
        sub: contents(new Choice(seed ^ worktree).some(['g', 'h'], 80), worktree),
      },
    },
    current: `.trees/${worktree}`,
    shortcut: 'current/sub',
    deep: { by: '../current/f', certificate: '../cert.pem' },
    [`cert-${cert}.pem`]: file(`cert${cert}`),
    'cert.pem': `cert-${cert}.pem`,
    chain: 'cert.pem',
  }
}

/** All that readers find, by the paths by which they come, links and the directories behind them followed. */
function found(of: TargetTree, at = '', depth = 0): Map<string, string> {
  const all = new Map<string, string>()
  const { node } = follow(of, at)
  if (node?.kind !== 'directory' || depth > 4) return all
  for (const name of node.entries.keys()) {
    const path = at === '' ? name : `${at}/${name}`
    const { node: end } = follow(of, path)
    if (end !== undefined && 'digest' in end) all.set(path, end.digest)
    else for (const [below, digest] of found(of, path, depth + 1)) all.set(below, digest)
  }
  return all
}

/** The tree after a step. */
function after(of: TargetTree, step: Step): TargetTree {
  const put = (tree: TargetTree, [name = '', ...rest]: readonly string[]): TargetTree => {
    const entries = new Map(tree.entries)
    const child = entries.get(name)
    if (rest.length > 0 && child?.kind === 'directory') entries.set(name, put(child, rest))
    else if (rest.length > 0) throw new Error(`there is no ${step.path} to ${step.do}`)
    else if (step.do === 'remove') entries.delete(name)
    else if (step.do !== 'attributes' || step.node.kind === 'file') entries.set(name, step.node)
    return { ...tree, entries }
  }
  return put(of, step.path.split('/'))
}

/** A version of which some files cannot be had, and keep what the target has in their place; but a ConfigMap's keys are had together, or kept. */
function hadOf(next: TargetTree, had: TargetTree, choice: Choice): { tree: TargetTree; doubts: Doubts } {
  const wanting = new Set<string>()
  const drop = (tree: TargetTree, old: TargetNode | undefined, at: string): TargetTree => {
    const entries = new Map<string, TargetNode>()
    for (const [name, node] of tree.entries) {
      const path = at + name
      const before = old?.kind === 'directory' ? old.entries.get(name) : undefined
      const isOfKeys = at === '' && name.startsWith('..')
      if (node.kind === 'directory' && !isOfKeys) entries.set(name, drop(node, before, `${path}/`))
      else if (node.kind !== 'file' || !choice.isLikely(5)) entries.set(name, node)
      else if (before !== undefined) entries.set(name, before)
      else wanting.add(path)
    }
    return { ...tree, entries }
  }
  return { tree: drop(next, had, ''), doubts: { wanting, nowhere: new Set(danglingLinks(next)) } }
}

function linkAt(of: TargetTree, path: string): string | undefined {
  const node = nodeAt(of, path)
  return node?.kind === 'link' ? node.to : undefined
}

/**
 * Carries out a plan, of which some steps fail, and looks after each. Lost is what readers have in both versions and not now; early a new link to what is not
 * there yet; halved a version of which links are gone, and the link that they lead over stays.
 */
function carryOut(
  had: TargetTree,
  whole: TargetTree,
  desired: TargetTree,
  doubts: Doubts,
  choice: Choice,
): TargetTree {
  const [old, next] = [found(had), found(whole)]
  const both = [...old.keys()].filter((path) => next.has(path))
  const dangled = new Set(danglingLinks(had))
  const over = linksIn(had).map((path) => [path, follow(had, path).links.slice(1)] as const)
  let now = had
  let steps = plan(had, desired)
  const failed = new Set<string>()
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    if (choice.isLikely(4)) {
      if (step.do !== 'place') continue
      failed.add(step.path)
      steps = safeWithout(failed, steps, now, desired, [doubts])
      continue
    }
    now = after(now, step)
    const has = (path: string) => follow(now, path).node !== undefined
    const isAs = (path: string, of: TargetTree) => linkAt(now, path) === linkAt(of, path)
    const lost = both.filter((path) => !has(path))
    const early = linksIn(desired).filter(
      (path) => isAs(path, desired) && !has(path) && !dangled.has(path) && !doubts.nowhere.has(path),
    )
    const stays = (path: string) => isAs(path, had) && !isAs(path, whole)
    const halved = over.filter(([path, links]) => nodeAt(now, path) === undefined && links.some(stays))
    const wrong = { lost, early, halved: halved.map(([path]) => path) }
    expect(wrong, `${step.do} ${step.path}`).toEqual({ lost: [], early: [], halved: [] })
  }
  return now
}

test(`${ROUNDS} rounds`, () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const choice = new Choice(seed)
    const versions = { ...FIRST }
    let had = tree(sourceOf(versions, seed))
    for (let swap = 1; swap <= 6; swap++) {
      for (const part of choice.some(PARTS, 50)) versions[part] = swap
      const whole = tree(sourceOf(versions, seed))
      const next = hadOf(whole, had, choice)
      const desired = keepReached(had, next.tree, [next.doubts])
      had = carryOut(had, whole, desired, next.doubts, choice)
    }
  }
})
