import { expect, test } from 'vitest'
import { PathIndex } from '../../../src/watch/report/path_index.ts'

function indexOf(...paths: string[]): PathIndex<string> {
  const index = new PathIndex<string>()
  for (const path of paths) index.make(path).value = path
  return index
}

const below = (index: PathIndex<string>, path: string) => [...(index.at(path)?.values() ?? [])].toSorted()

test('what is below a path is what its names say, not what begins like it', () => {
  const index = indexOf('/d/a', '/d', '/da', '/d/a/b')
  expect(below(index, '/d')).toEqual(['/d', '/d/a', '/d/a/b'])
  expect(below(index, '/d/a')).toEqual(['/d/a', '/d/a/b'])
  expect(below(index, '/d/x')).toEqual([])
})

test('what is taken out can be put elsewhere, with all below it', () => {
  const index = indexOf('/d/a', '/d/b', '/c')
  const taken = index.take('/d')
  expect(below(index, '/d')).toEqual([])
  if (taken !== undefined) index.put(taken, '/c/e')
  expect(below(index, '/c/e')).toEqual(['/d/a', '/d/b'])
  expect(index.at('/c/e/a')?.path).toBe('/c/e/a')
})

test('a directory of which nothing is kept any more is forgotten', () => {
  const index = indexOf('/a/b/c', '/a/b')
  const [file, directory] = [index.make('/a/b/c'), index.make('/a/b')]
  index.clear(directory)
  expect(below(index, '/a')).toEqual(['/a/b/c'])
  index.clear(file)
  expect(index.at('')).toBeUndefined()
  expect(index.take('/a')).toBeUndefined()
})

test('a path may have more names than a stack has room for', () => {
  const deep = '/d'.repeat(20_000)
  const index = indexOf(deep)
  expect(below(index, '/d')).toEqual([deep])
  expect(index.at(deep)?.path).toBe(deep)
})
