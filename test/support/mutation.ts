import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { scratch } from './scratch.ts'

/** A fault that is put into the code on purpose, so that a test must notice. */
export interface Mutation {
  /** The path in src/. */
  file: string
  /** The text to replace, which must occur exactly once. */
  find: string
  replace: string
}

const ROOT = join(import.meta.dirname, '../..')

/** A copy of the sources with the mutation, and of the tests, which can be run as they are. It goes with the test. */
export function mutatedCopy(mutation: Mutation): string {
  const copy = scratch()
  for (const name of ['src', 'test', 'package.json', 'tsconfig.json', 'vitest.config.ts'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  for (const name of ['build', 'node_modules']) symlinkSync(join(ROOT, name), join(copy, name))
  mutate(copy, mutation)
  return copy
}

function mutate(copy: string, { file, find, replace }: Mutation): void {
  const path = join(copy, 'src', file)
  const parts = readFileSync(path, 'utf8').split(find)
  expect(parts.length - 1, `the table is out of date: ${JSON.stringify(find)} in src/${file}`).toBe(1)
  writeFileSync(path, parts.join(replace))
}
