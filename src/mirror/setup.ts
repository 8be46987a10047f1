import { realpath } from 'node:fs/promises'
import { InotifyError } from '../errors.ts'
import { HeldDirectory } from '../mounts/held.ts'
import { readBack } from './inherit.ts'
import type { MirrorConfig } from './options.ts'
import type { PassContext } from './pass.ts'
import { Source } from './source.ts'
import { Staging } from './staging.ts'
import { openTarget, removeIfEmpty, warnUnlessInMemory } from './target.ts'

/** Opens what the passes work with, or leaves nothing open. */
export async function prepare(config: MirrorConfig): Promise<PassContext> {
  await using root = await openSource(config.source)
  const { held, created } = await openTarget(root, config.target)
  try {
    await warnUnlessInMemory(held, config.target)
    const staging = await Staging.open(held, config.target, created)
    const { dev, ino } = await held.stat()
    return {
      config,
      source: new Source(config.source),
      target: { held, shown: config.target, tree: await readBack(held, staging.made) },
      staging,
      rules: {
        limits: config.limits,
        sources: [config.source, await realpath(root.path)],
        target: { dev, ino },
      },
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
