// A root that is lost, and what its links lead to meanwhile.
import { appendFileSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../../support/scratch.ts'
import { story, watching } from '../../support.ts'
import { untilPast } from '../losing.ts'

test.each(['inotify', 'poll'] as const)(
  '%s: what is written at the end of a link is told when the root is restored',
  async (backend) => {
    const base = scratch()
    const at = (path: string) => join(base, path)
    mkdirSync(at('tree'))
    writeFileSync(at('key'), '')
    symlinkSync('../key', at('tree/l'))
    // With young times, the link itself might count as made again.
    await untilPast(at('tree/l'))
    const { told } = await watching(at('tree'), { backend, followSymlinks: true, interval: 1_000_000 })
    renameSync(at('tree'), at('gone'))
    expect(story(await told(), base)).toEqual(['lost tree'])
    appendFileSync(at('key'), 'x')
    expect(story(await told(), base)).toEqual([])
    // The times alone do not show the write: they are older than the look that restores the root.
    await untilPast(at('key'))
    renameSync(at('gone'), at('tree'))
    expect(story(await told(), base)).toEqual(['restored tree', 'modify symlink tree/l'])
  },
)
