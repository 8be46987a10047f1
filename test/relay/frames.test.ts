import { describe, expect, test } from 'vitest'
import { keysOf } from '../../src/name_key.ts'
import { FrameReader, frame, HINT, hintedPaths, hintFrames } from '../../src/relay/frames.ts'
import { randomFrom } from '../watch/support.ts'

/** Returns the frames of a stream that comes in pieces. */
function read(stream: Buffer, pieces: (rest: number) => number) {
  const reader = new FrameReader()
  const found: Array<{ type: number; body: Buffer }> = []
  for (let at = 0; at < stream.length; ) {
    const end = at + pieces(stream.length - at)
    for (const { type, body } of reader.frames(stream.subarray(at, end)))
      found.push({ type, body: Buffer.from(body) })
    at = end
  }
  return found
}

const PATHS = [
  'a',
  'a/b',
  'ä\u{1f600}',
  'x'.repeat(16_384),
  ...Array.from({ length: 9000 }, (_, i) => `d/${i}`),
]
const BYTES = [...PATHS.map((path) => Buffer.from(path)), Buffer.from('6e6f2fff2f757466', 'hex')]

describe('hints', () => {
  test.each<[string, (rest: number) => number]>([
    ['at once', (rest) => rest],
    ['byte by byte', () => 1],
    ['in pieces of 7 bytes', () => 7],
    ['in pieces of 64 KiB and one byte', () => 65_537],
  ])('are the paths that were sent: %s', (_, pieces) => {
    const frames = read(Buffer.concat(hintFrames(BYTES.map((path) => path.toString('latin1')))), pieces)
    expect(frames.length).toBeGreaterThan(1)
    expect(frames.every(({ type }) => type === HINT)).toBe(true)
    expect(frames.flatMap(({ body }) => hintedPaths(body))).toEqual(BYTES.map((path) => keysOf(path)))
  })

  test('of no paths are no frames', () => {
    expect(hintFrames([])).toEqual([])
  })
})

test.each([0, 64 * 1024 + 2, 2 ** 32 - 1])('a size of %d bytes is no frame', (size) => {
  const head = Buffer.alloc(5)
  head.writeUInt32LE(size)
  expect(() => [...new FrameReader().frames(head)]).toThrow(`a frame of ${size} bytes`)
})

test('garbage is frames or an error, and no more of it is kept than a frame may have', () => {
  const random = randomFrom(4711)
  for (let round = 0; round < 2000; round++) {
    const reader = new FrameReader()
    const known = frame(1 + random(8), Buffer.alloc(random(100)))
    try {
      for (let piece = 0; piece < 20; piece++) {
        const garbage = Buffer.from(Array.from({ length: random(40) }, () => random(256)))
        for (const { body } of reader.frames(random(3) === 0 ? garbage : known))
          expect(body.length).toBeLessThanOrEqual(64 * 1024)
      }
    } catch (error) {
      expect((error as Error).message).toMatch(/^a frame of \d+ bytes, which no relay sends$/)
    }
  }
})
