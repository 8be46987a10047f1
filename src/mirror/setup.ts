import { realpath } from 'node:fs/promises'
import { InotifyError } from '../errors.ts'
import { HeldDirectory } from '../mounts/held.ts'
import { readBack } from './inherit.ts'
import type { MirrorConfig } from './options.ts'
import type { PassContext } from './pass.ts'
import { onTarget } from './safe_copy.ts'
import { Source } from './source.ts'
import { Staging } from './staging.ts'
import { openTarget, removeIfEmpty, warnUnlessInMemory } from './target.ts'

/** Opens what the passes work with, or leaves nothing open and nothing made. */
export async function prepare(config: MirrorConfig): Promise<PassContext> {
  await using root = await openSource(config.source)
  const { held, created } = await openTarget(root, config.target)
  try {
    await warnUnlessInMemory(held, config.target)
    const staging = await Staging.open(held, config.target, created)
    try {
      const { dev, ino } = await held.stat()
      const tree = await onTarget('read', config.target, readBack(held, staging.made))
      return {
        config,
        source: new Source(config.source),
        target: { held, shown: config.target, tree },
        staging,
        rules: {
          limits: config.limits,
          sources: [config.source, await realpath(root.path)],
          target: { dev, ino },
        },
        inherited: tree.entries.size > 0,
      }
    } catch (error) {
      // What a killed mirror has noted down is for the next.
      await ([...staging.made].length > 0 ? staging.abandon() : staging.remove()).catch(() => {})
      throw error
    }
  } catch (error) {
    await held.close()
    if (created) await removeIfEmpty(config.target)
    throw error
  }
}

async function openSource(path: string): Promise<HeldDirectory> {
  try {
    return await HeldDirectory.open(path)
  } catch (error) {
    const errno =
      error instanceof Error && 'errno' in error && typeof error.errno === 'number' ? -error.errno : 'EIO'
    const hint = 'the source must be a directory that exists and can be reached when the mirror starts'
    throw new InotifyError({ errno, syscall: 'open', path, hint })
  }
}
