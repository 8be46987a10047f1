import type { HeldDirectory } from '../mounts/held.ts'
import { digestFile } from './safe_copy.ts'
import { statKey, type TargetNode, type TargetTree } from './tree.ts'

/**
 * What the target has from an earlier mirror, so that taking over changes only what differs and removes what the source has
 * no longer: the entries a killed mirror noted down, and whatever of an AtomicWriter's layout one left on purpose
 * (`close({ keep: true })`), and with `only` nothing but that entry. Anything else in the target is not ours to remove.
 */
export async function readBack(
  target: HeldDirectory,
  made: Iterable<string>,
  only: string,
): Promise<TargetTree> {
  const noted = new Set(made)
  const entries = new Map<string, TargetNode>()
  const names = (await target.names()).map(String).filter((name) => only === '' || name === only)
  const layout = names.includes('..data')
  for (const name of names) {
    const ours = noted.has(name) || (layout && (await isOfLayout(target, name)))
    const node = ours ? await readNode(target, name) : undefined
    if (node !== undefined) entries.set(name, node)
  }
  return { kind: 'directory', key: statKey(await target.stat()), entries }
}

async function isOfLayout(target: HeldDirectory, name: string): Promise<boolean> {
  if (name.startsWith('..')) return true
  const to = (await target.lstat(name)).link
  return to.startsWith('..data/')
}

/** undefined for what no mirror makes: sockets and the like. */
async function readNode(parent: HeldDirectory, name: string): Promise<TargetNode | undefined> {
  const stat = await parent.lstat(name)
  const key = statKey(stat)
  if (stat.isSymbolicLink()) return { kind: 'link', to: stat.link }
  if (stat.isFile()) {
    // One that cannot be read, its mode may forbid that even to us, is like no source: it is replaced.
    return { kind: 'file', key, digest: await digestFile(parent, name, key).catch(() => '') }
  }
  if (!stat.isDirectory()) return undefined
  await using held = await parent.directory(name)
  const entries = new Map<string, TargetNode>()
  for (const child of await held.names()) {
    const node = await readNode(held, child.toString())
    if (node !== undefined) entries.set(child.toString(), node)
  }
  return { kind: 'directory', key, entries }
}
