import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Change } from '../../../src/index.ts'
import { DIRECTORIES, FILES, type Round } from './operations.ts'
import { type Filesystem, makePlace } from './places.ts'
import { Session, type SessionOptions } from './session.ts'
import { Writers } from './writers.ts'

export interface Setting extends SessionOptions {
  filesystem: Filesystem
  writers: number
  /** 'before' the writers begin, or 'amid' their work: then what the watcher found is what it told. */
  start: 'before' | 'amid'
}

export interface Outcome {
  /** What is wrong, a line each; the first is the worst. None: nothing is. */
  wrong: string[]
  /** All that was told. */
  changes: Change[]
  overflows: number
  /** How many operations were possible. */
  operations: number
}

/** Three levels of files, links and directories, under the names that the writers use. */
function plant(directory: string, levels = 3): void {
  for (const [i, name] of FILES.entries()) {
    if (i === 0) symlinkSync(FILES[1], join(directory, name))
    else writeFileSync(join(directory, name), `planted, ${levels} ${name}\n`)
  }
  for (const name of levels > 1 ? DIRECTORIES : []) {
    mkdirSync(join(directory, name))
    plant(join(directory, name), levels - 1)
  }
}

/** Lets the writers do a round with a watcher at work, and says how what it told differs from what is. */
export async function play(round: Round, setting: Setting): Promise<Outcome> {
  await using place = await makePlace(setting.filesystem, (tree) => plant(tree))
  const { tree, outside } = place
  await using writers = new Writers(setting.writers, tree, outside)
  await using session = new Session(tree, setting)
  let operations = 0
  if (setting.start === 'before') await session.start(false)
  for (const scripts of round) {
    // Each script begins with a mark, so that a watcher that is to start amid the work does.
    const marked = scripts.map((script) => [['mark'], ...script])
    operations += await writers.run(marked, () => session.meanwhile())
    await session.settle(writers.linked, writers.renamed)
    if (session.wrong.length > 0) break
  }
  const { wrong, changes, overflows } = session
  return { wrong, changes, overflows, operations }
}
