// A recovery leaves unchanged directories out. A change below such a directory is told by each path that is
// watched, and by no other.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratch } from '../../support/scratch.ts'
import { story, watching } from '../support.ts'
import { losing, untilPast } from './losing.ts'

test('one tree by two paths: what was lost is told under both, once each', async () => {
  const base = scratch()
  const at = (path: string) => join(base, path)
  mkdirSync(at('tree/d/e/f'), { recursive: true })
  mkdirSync(at('tree/g'))
  for (const path of ['d/old', 'd/e/old', 'd/e/f/old', 'g/old']) writeFileSync(at(`tree/${path}`), '')
  symlinkSync('tree', at('link'))
  await untilPast(at('tree/g/old'))
  const { system, lose } = losing()
  const { told } = await watching([at('tree'), at('link')], { recursive: true, backend: 'inotify' }, system)
  await told()
  lose()
  writeFileSync(at('tree/d/e/f/new'), '')
  mkdirSync(at('tree/g/made'))
  rmSync(at('tree/d/e/old'))
  const changes = story(await told(), base).filter((line) => !/overflow|recovered/.test(line))
  const expected = ['tree', 'link'].flatMap((root) => [
    `create directory ${root}/g/made`,
    `create file ${root}/d/e/f/new`,
    `delete file ${root}/d/e/old`,
  ])
  expect(changes.toSorted()).toEqual(expected.toSorted())
})
