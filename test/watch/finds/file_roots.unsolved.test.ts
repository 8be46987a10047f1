// A root that is a file, and at whose path something else is then.
import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'

const NEVER = 1_000_000

test.each(['inotify', 'poll'] as const)(
  '%s: of a directory in its place nothing is told',
  async (backend) => {
    const directory = scratch()
    const path = join(directory, 'f')
    writeFileSync(path, '')
    const { told } = await watching(path, { backend, interval: NEVER })
    unlinkSync(path)
    mkdirSync(path)
    writeFileSync(join(path, 'in'), '')
    expect(story(await told(), directory)).toEqual(['lost f'])
  },
)
