import { basename, dirname } from 'node:path'
import { InotifyError } from '../errors.ts'
import { AT_FDCWD, Calls, O_PATH } from '../mounts/calls.ts'
import { HeldDirectory, lookUpPath } from '../mounts/held.ts'
import type { Target } from './apply.ts'
import { readBack } from './inherit.ts'
import type { MirrorConfig } from './options.ts'
import type { PassContext } from './pass.ts'
import { Publisher } from './publisher.ts'
import { onTarget } from './safe_copy.ts'
import { Source } from './source.ts'
import { Staging } from './staging.ts'
import { openTarget, removeIfEmpty, TargetGone, warnUnlessInMemory } from './target.ts'

const ATTEMPTS = 3

/** What a mirror works with, open. */
export interface Prepared {
  readonly target: Target
  readonly staging: Staging
  readonly publisher: Publisher
  /** One for each source. */
  readonly passes: readonly PassContext[]
  /** Whether the target had something from an earlier mirror. */
  readonly inherited: boolean
  /** Removes the directory that was made for the target, if there is nothing else in it. */
  removeTarget(): Promise<void>
  /** Everything that is still open. */
  close(): Promise<void>
}

/** A source that was there when the mirror started. */
interface Found {
  readonly path: string
  readonly calls: Calls
  readonly isFile: boolean
  /** Of its directory, if it is a file. */
  readonly held: HeldDirectory
  readonly inode: { readonly dev: bigint; readonly ino: bigint }
}

/** Opens what the passes work with, or leaves nothing open and nothing made. */
export async function prepare(config: MirrorConfig): Promise<Prepared> {
  const found: Found[] = []
  const calls = new Calls()
  try {
    for (const path of config.sources) found.push(await findSource(path))
    for (let left = ATTEMPTS; ; left--) {
      try {
        return await prepareTarget(config, found, calls)
      } catch (error) {
        if (!(error instanceof TargetGone) || left === 0) throw error
      }
    }
  } catch (error) {
    for (const { calls } of found) calls.end()
    calls.end()
    throw error
  }
}

async function prepareTarget(config: MirrorConfig, found: readonly Found[], calls: Calls): Promise<Prepared> {
  const [first] = found
  const isSole = found.length === 1 && first?.isFile === true
  if (isSole) await refuseAsFile(calls, first, config.target)
  const directory = isSole ? dirname(config.target) : config.target
  const only = isSole ? basename(config.target) : ''
  const directories = found.filter(({ isFile }) => !isFile).map(({ held }) => held)
  const { held, created } = await openTarget(calls, directory, directories)
  try {
    await warnUnlessInMemory(held, config.target)
    const staging = await Staging.open(held, { shown: directory, createdTarget: created, only })
    try {
      const tree = await onTarget('read', directory, readBack(held, staging.made, only))
      const target = { held, shown: directory, tree }
      const publisher = new Publisher(target, staging, found.length)
      const { dev, ino } = await held.stat()
      const passes: PassContext[] = []
      for (const [index, { path, calls: own, isFile, held: root }] of found.entries()) {
        const alias = isFile ? (isSole ? only : basename(path)) : undefined
        const rules = { limits: config.limits, sources: [path, await root.realpath()], target: { dev, ino } }
        const source = new Source(path, own, alias)
        passes.push({ config, source, index, publisher, staging, rules })
        await root.close()
      }
      return {
        target,
        staging,
        publisher,
        passes,
        inherited: tree.entries.size > 0,
        removeTarget: () => removeIfEmpty(calls, directory),
        close: async () => {
          await held.close()
          calls.end()
        },
      }
    } catch (error) {
      // What a killed mirror has noted down is for the next.
      await ([...staging.made].length > 0 ? staging.abandon() : staging.remove()).catch(() => {})
      throw error
    }
  } catch (error) {
    const isGone = (await held.stat()).nlink === 0n
    await held.close()
    if (isGone) throw new TargetGone()
    if (created) await removeIfEmpty(calls, directory)
    throw error
  }
}

/** Throws an {@link InotifyError} if it is not there, or neither a directory nor a regular file. */
async function findSource(path: string): Promise<Found> {
  const calls = new Calls()
  try {
    await lookUpPath(calls, path)
    const { fd, stat } = await calls.open(path, O_PATH)
    calls.close(fd)
    const isFile = stat.isFile()
    // Anything else is ENOTDIR here.
    const held = await HeldDirectory.open(calls, isFile ? dirname(path) : path)
    return { path, calls, isFile, held, inode: stat }
  } catch (error) {
    calls.end()
    const errno =
      error instanceof Error && 'errno' in error && typeof error.errno === 'number' ? -error.errno : 'EIO'
    const hint =
      'a source must be a directory or a regular file that exists and can be reached when the mirror starts'
    throw new InotifyError({ errno, syscall: 'open', path, hint })
  }
}

/** The target of a single file is the path of one. */
async function refuseAsFile(calls: Calls, { inode }: Found, path: string): Promise<void> {
  const stat = await calls.stat({ fd: AT_FDCWD, name: path }).catch(() => undefined)
  if (stat === undefined) return
  const refuse = (errno: 'EISDIR' | 'EINVAL', hint: string) =>
    new InotifyError({ errno, syscall: 'mirror', path, hint })
  if (stat.isDirectory())
    throw refuse('EISDIR', 'the source is a single file: name the file in this directory that it shall be')
  if (stat.dev === inode.dev && stat.ino === inode.ino)
    throw refuse('EINVAL', 'it is the source itself: the target must be another file, best on a tmpfs')
}
