import { expect, test } from 'vitest'
import { keyOf, keysOf, pathOf, textOf } from '../src/name_key.ts'

test.each(['plain', 'größe', '\u{1f600}', 'a\nb', '\ufffd'])('%j is its own key', (text) => {
  expect(keyOf(Buffer.from(text))).toBe(text)
  expect(pathOf(text)).toBe(text)
  expect(textOf(text)).toBe(text)
})

test('names that are no UTF-8 keep their bytes, and no two have one key', () => {
  const names = [[0xff], [0xfe], [0x66, 0x80], [0xc3, 0x28], [0x66, 0xff, 0x0a]].map((bytes) =>
    Buffer.from(bytes),
  )
  expect(new Set(names.map(keyOf)).size).toBe(names.length)
  for (const name of names) {
    expect(pathOf(keyOf(name))).toEqual(name)
    expect(textOf(keyOf(name))).toBe(name.toString())
  }
})

// Half of the last is a code unit that stands for a byte where it is alone.
test.each(['/', '/plain/', '/größe/', '/\u{1f480}/'])(
  'below %j a path keeps the bytes of a name that is no UTF-8',
  (directory) => {
    const path = Buffer.concat([Buffer.from(directory), Buffer.from([0x61, 0x80, 0xff])])
    expect(pathOf(keysOf(path))).toEqual(path)
    expect(textOf(keysOf(path))).toBe(path.toString())
  },
)

test('a path has a key for each of its components', () => {
  const path = Buffer.concat([Buffer.from('/é/'), Buffer.from([0xc3, 0x2f, 0xff]), Buffer.from('/a')])
  expect(keysOf(path)).toBe('/é/\udcc3/\udcff/a')
  expect(pathOf(keysOf(path))).toEqual(path)
  expect(keysOf(Buffer.from('/é/a'))).toBe('/é/a')
})
