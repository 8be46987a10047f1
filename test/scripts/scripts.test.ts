import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { parse, type Script, SOURCES, type Who } from './parse.ts'
import { PACES, play } from './play.ts'

const directory = join(import.meta.dirname, 'testdata')
const repository = resolve(directory, '../../..')

const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.txt'))
  .sort()

// At the other paces than at once nothing but where it leads to is known.
const paces = isLong ? PACES : PACES.slice(0, 1)

for (const file of files) {
  const path = join(directory, file)
  const name = file.slice(0, -'.txt'.length)
  let script: Script
  try {
    script = parse(readFileSync(path, 'utf8'), relative(repository, path))
  } catch (error) {
    test(name, () => {
      throw error
    })
    continue
  }
  describe(`${name}: ${script.promise}`, () => {
    for (const source of SOURCES) {
      for (const pace of paces) {
        test(`${source}, ${pace}`, async (context) => {
          const obstacle = script.only.find(({ who }) => !isMet(who, source))
          if (obstacle !== undefined) context.skip(`only ${obstacle.who}: ${obstacle.reason}`)
          await play(script, source, pace)
        })
      }
    }
  })
}

function isMet(who: Who, source: string): boolean {
  if (who === 'root' || who === 'user') return (process.getuid?.() === 0) === (who === 'root')
  return who === source
}
