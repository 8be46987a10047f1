// Roots that are files.
import { unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { watching } from '../support.ts'

const NEVER = 1_000_000
const BACKENDS = ['inotify', 'poll'] as const

test.each(BACKENDS)('%s: a file that is lost says by what that was found', async (backend) => {
  const path = join(scratch(), 'f')
  writeFileSync(path, '')
  const { told } = await watching(path, { backend, interval: NEVER })
  // Only a look at the path can tell, and it is a poll that looks.
  unlinkSync(path)
  const source = backend === 'poll' ? 'poll' : 'inotify'
  expect(await told()).toMatchObject([{ type: 'lost', path, source }])
})
