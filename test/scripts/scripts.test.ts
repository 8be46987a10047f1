import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { describe, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { parse, type Script, SOURCES, type Who } from './parse.ts'
import { PACES, play } from './play.ts'

const directory = import.meta.dirname
const repository = resolve(directory, '../..')

const files = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.txt'))
  .sort()

// At the other paces nothing but where it leads to is known: of these those who wait have one, by one of the sources, by turns.
const [AT_ONCE, ...OTHERS] = PACES
const TURNS = SOURCES.flatMap((source) => OTHERS.map((pace) => ({ source, pace })))

for (const [n, file] of files.entries()) {
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
      const turn = TURNS[n % TURNS.length]
      const paces = isLong
        ? PACES
        : PACES.filter((pace) => pace === AT_ONCE || (turn?.pace === pace && turn.source === source))
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
