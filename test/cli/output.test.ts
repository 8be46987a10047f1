import { Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'
import { expect, test, vi } from 'vitest'
import { jsonLine, print } from '../../src/cli/shared/output.ts'
import { reportProgress } from '../../src/cli/shared/progress.ts'

/** A reader that takes one write when told to. */
class SlowReader extends Writable {
  readonly taken: string[] = []
  #next: (() => void) | undefined

  constructor() {
    super({ decodeStrings: false })
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.taken.push(chunk)
    this.#next = done
  }

  take(): void {
    this.#next?.()
  }
}

const never = new AbortController().signal

function* lines(count: number, made = { count: 0 }): Iterable<string> {
  for (; made.count < count; made.count++) yield `${String(made.count).padStart(99, '.')}\n`
}

test('many lines are few writes, and none of them is cut', async () => {
  const reader = new SlowReader()
  const printed = print(lines(100_000), never, reader)
  const timer = setInterval(() => reader.take())
  await printed
  clearInterval(timer)
  expect(reader.taken.join('')).toBe([...lines(100_000)].join(''))
  expect(reader.taken.length).toBeLessThan(200)
  for (const chunk of reader.taken) expect(chunk.endsWith('\n')).toBe(true)
})

test('while the reader takes nothing, nothing more is made for it', async () => {
  const reader = new SlowReader()
  const made = { count: 0 }
  const printed = print(lines(100_000, made), never, reader)
  await new Promise((resolve) => setImmediate(resolve))
  expect(made.count).toBeLessThan(1000)
  expect(reader.writableLength).toBeLessThan(100_000)
  const timer = setInterval(() => reader.take())
  await printed
  clearInterval(timer)
  expect(made.count).toBe(100_000)
})

test('an abort does not wait for the reader, and heaps nothing up for it', async () => {
  const reader = new SlowReader()
  const stop = new AbortController()
  const printed = print(lines(100_000), stop.signal, reader)
  stop.abort()
  await printed
  const length = reader.writableLength
  await print(lines(1000), stop.signal, reader)
  expect(reader.writableLength).toBe(length)
  expect(reader.listenerCount('drain')).toBe(0)
})

test('after an abort, a reader that keeps up is still told', async () => {
  const reader = new SlowReader()
  await print(['last\n'], AbortSignal.abort(), reader)
  expect(reader.taken).toEqual(['last\n'])
})

test('JSON holds nothing that is not to be seen or turns the text around it, and is what it was', () => {
  const codes = [...Array.from({ length: 0xa1 }, (_, code) => code), 0x61c, 0x200e, 0x200f, 0xfeff]
  const ranges = [0x2028, 0x2029, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069]
  const name = String.fromCharCode(...codes, ...ranges)
  const line = jsonLine({ name, lone: '\ud800' })
  expect(line).toMatch(/^[\x20-\x7e\xa0]+\n$/)
  expect(JSON.parse(line)).toEqual({ name, lone: '\ud800' })
})

/** A terminal's line, as `\r` and what follows leave it. */
function terminal(columns: number) {
  const written: string[] = []
  const stream = { isTTY: true, columns, write: (text: string) => written.push(text) }
  return { written, stream: stream as unknown as WriteStream }
}

/** Returns what a terminal shows of text that goes back to the beginning of its line. */
function visible(text: string): string {
  let [line, at] = ['', 0]
  for (const character of text) {
    if (character === '\r') at = 0
    else line = line.slice(0, at) + character + line.slice(++at)
  }
  return line.trimEnd()
}

test('progress: ten times a second, fitting, written over, erased', () => {
  vi.useFakeTimers({ now: 0 })
  try {
    const { written, stream } = terminal(20)
    const texts = ['setting up: 999 directories', 'short', 'longer again']
    const stop = reportProgress(() => texts[Math.min(written.length, 2)] as string, stream)
    vi.advanceTimersByTime(99)
    expect(written).toEqual([])
    const seen: string[] = []
    for (let i = 0; i < 3; i++) {
      vi.advanceTimersByTime(100)
      seen.push(visible(written.join('')))
      expect(written).toHaveLength(i + 1)
    }
    expect(seen).toEqual(['setting up: 999 dir', 'short', 'longer again'])
    stop()
    expect(visible(written.join(''))).toBe('')
    // The next output begins where the line began.
    expect(visible(`${written.join('')}next`)).toBe('next')
    vi.advanceTimersByTime(1000)
    expect(written).toHaveLength(4)
  } finally {
    vi.useRealTimers()
  }
})

test('no progress where there is no terminal', () => {
  vi.useFakeTimers()
  try {
    const { written, stream } = terminal(80)
    const stop = reportProgress(() => 'text', Object.assign(stream, { isTTY: false }))
    vi.advanceTimersByTime(1000)
    stop()
    expect(written).toEqual([])
  } finally {
    vi.useRealTimers()
  }
})
