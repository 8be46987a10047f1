import { textOf } from '../../name_key.ts'
import { sameContent, type TargetTree } from './tree.ts'

/** The directory behind `..data`: a complete set of keys that is published as one. */
export interface Generation {
  readonly name: string
  readonly tree: TargetTree
}

/** The generation that the target shows; undefined if it has none. */
export function currentGeneration(target: TargetTree): Generation | undefined {
  const data = target.entries.get('..data')
  if (data?.kind !== 'link') return undefined
  const tree = target.entries.get(data.to)
  return tree?.kind === 'directory' ? { name: data.to, tree } : undefined
}

/**
 * The name under which a copy of the source's directory `data` is published: its own; or that of a generation with the
 * same content which the target has already. The same name with other content (the source was not changed by an
 * AtomicWriter) gets a suffix, since a directory cannot be replaced by rename(2) unless it is empty.
 *
 * @param others entries that the target shall have beside it: a source without a `..data` may have one of such a name
 */
export function nameGeneration(
  target: TargetTree,
  data: string,
  copy: TargetTree,
  others: Pick<ReadonlyMap<string, unknown>, 'has'> = new Map(),
): string {
  const current = currentGeneration(target)
  const candidates = current?.name.startsWith(`${data}.~`) ? [current.name, data] : [data]
  for (const name of candidates) {
    const published = others.has(name) ? undefined : target.entries.get(name)
    if (published !== undefined && sameContent(published, copy)) return name
  }
  let name = data
  for (let n = 1; target.entries.has(name) || others.has(name); n++) name = `${data}.~${n}`
  return name
}

/** Returns true if the target shows this very copy of a source's generation, alone or among those of others. */
export function isShown(target: TargetTree, copy: TargetTree): boolean {
  const current = currentGeneration(target)
  return current !== undefined && holds(current.tree, copy)
}

function holds(tree: TargetTree, part: TargetTree): boolean {
  for (const [name, node] of part.entries) {
    const shown = tree.entries.get(name)
    if (shown === node) continue
    if (shown?.kind === 'link' && node.kind === 'link' && shown.to === node.to) continue
    if (shown?.kind !== 'directory' || node.kind !== 'directory' || !holds(shown, node)) return false
  }
  return true
}

/**
 * The names, as a consumer of the target uses them, of the files and links that differ between two states of it:
 * `app.yaml`, not the directories and links behind it. As text: two that are no UTF-8 may be one.
 */
export function changedNames(old: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const names = new Set([...old.keys(), ...now.keys()])
  const changed = [...names].filter((name) => old.get(name) !== now.get(name))
  return [...new Set(changed.map(textOf))].sort()
}

/** Returns for every visible name what a reader finds there. A key is its link and the file behind it under one name. */
export function facesOf(target: TargetTree): ReadonlyMap<string, string> {
  const faces = new Map<string, string>()
  const current = currentGeneration(target)
  const add = (name: string, face: string) => faces.set(name, `${faces.get(name) ?? ''} ${face}`)
  const visit = (prefix: string, tree: TargetTree) => {
    for (const [name, node] of tree.entries) {
      const path = prefix + name
      if (path === '..data' || (node === current?.tree && prefix === '')) continue
      if (node.kind === 'link') add(path, `-> ${node.to}`)
      else if (node.kind === 'directory') visit(`${path}/`, node)
      else add(path, `${node.digest} ${node.key.mode} ${node.key.uid} ${node.key.gid}`)
    }
  }
  visit('', target)
  if (current !== undefined) visit('', current.tree)
  return faces
}
