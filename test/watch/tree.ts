import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Change, WatchOptions } from '../../src/index.ts'
import type { WatchSystem } from '../../src/watch/system.ts'
import type { Watcher } from '../../src/watch/watcher.ts'
import { scratch } from '../support/scratch.ts'
import { AppliedAlone } from './applied_alone.ts'
import { contentsOf, divergences, snapshot } from './model/world/snapshot.ts'
import { story, watching } from './support.ts'

/** A tree that is watched recursively, with a consumer of its changes. */
export interface WatchedTree {
  root: string
  watcher: Watcher
  at(path: string): string
  /** Returns the changes since the last call. All that was done before this call is included. */
  told(): Promise<Change[]>
  /** Returns {@link told} in words: see {@link story}. */
  lines(): Promise<string[]>
  /** Fails if the changes do not lead to the tree, or if one did not fit the state before. */
  agrees(): Promise<void>
}

/**
 * Makes and watches a tree. `plant` makes entries before the watch; `parent` is the directory of the tree.
 */
export async function watchingTree(
  plant: (at: (path: string) => string) => void = () => {},
  options: WatchOptions = {},
  system: Partial<WatchSystem> = {},
  parent?: string,
): Promise<WatchedTree> {
  const root = scratch(parent)
  const at = (path: string) => join(root, path)
  plant(at)
  const believed = new AppliedAlone(root).adopt(contentsOf(snapshot(root)))
  const misfits: string[] = []
  const { watcher, told } = await watching(root, { recursive: true, backend: 'inotify', ...options }, system)
  watcher.on('changes', (changes) =>
    misfits.push(...changes.flatMap((change) => believed.misfit(change) ?? [])),
  )
  return {
    root,
    watcher,
    at,
    told,
    lines: async () => story(await told(), root),
    async agrees() {
      await watcher.sync()
      expect(misfits).toEqual([])
      const real = snapshot(root)
      expect(divergences(believed.entries, real)).toEqual([])
      // A later write that is not told would not be seen without the content of now.
      believed.adopt(contentsOf(real))
    },
  }
}

/** Returns the number of directories, with the root. */
export function directoriesIn(root: string): number {
  return [...snapshot(root).values()].filter(({ kind }) => kind === 'directory').length + 1
}

/** Returns the number of inotify watches that the kernel keeps for this process. */
export function kernelWatches(): number {
  const counts = readdirSync('/proc/self/fdinfo').map((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').match(/^inotify wd:/gm)?.length ?? 0
    } catch {
      return 0 // the descriptor of this very listing
    }
  })
  return counts.reduce((sum, count) => sum + count)
}
