import { expect, test } from 'vitest'
import { isInternal, nameBeside } from '../../src/volume/layout.ts'

test("which names are the AtomicWriter's own", () => {
  const names = ['..data', '..data_tmp', '..2026_08_01_10_00_00.123456', '..x', '..', '.x', 'a', '..2026']
  expect(names.filter((name) => isInternal(name, true))).toEqual(
    names.filter((name) => name.startsWith('..')),
  )
  expect(names.filter((name) => isInternal(name, false))).toEqual(names.slice(0, 3))
})

test('which entry beside it a link leads to', () => {
  const beside = ['..1', './..1', './/./..1', '..1/', './..1//'].map(nameBeside)
  expect(new Set(beside)).toEqual(new Set(['..1']))
  const elsewhere = ['', '.', '..', './', '../', '/..1', '../..1', '..1/a', 'a/..1']
  expect(elsewhere.map(nameBeside)).toEqual(elsewhere.map(() => undefined))
})
