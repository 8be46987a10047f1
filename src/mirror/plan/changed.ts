import { textOf } from '../../name_key.ts'
import { currentGeneration } from './generation.ts'
import type { TargetTree } from './tree.ts'

/**
 * The names, as a consumer of the target uses them, of the files and links that differ between two states of it:
 * `app.yaml`, not the directories and links behind it. As text: two that are no UTF-8 may be one.
 */
export function changedNames(before: TargetTree, after: TargetTree): string[] {
  const [old, now] = [faces(before), faces(after)]
  const names = new Set([...old.keys(), ...now.keys()])
  const changed = [...names].filter((name) => old.get(name) !== now.get(name))
  return [...new Set(changed.map(textOf))].sort()
}

/** For every visible name what a reader finds there. A key is its link and the file behind it under one name. */
function faces(target: TargetTree): Map<string, string> {
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
