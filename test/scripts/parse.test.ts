import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { operations } from './operations.ts'
import { parse } from './parse.ts'
import { bytesOf, spell, splitWords, textOf } from './words.ts'

const lines = (...text: string[]) => text.join('\n')

test('a script', () => {
  const script = parse(
    lines(
      '# A promise.',
      '',
      'only inotify: a reason: good',
      'mkdir -p a/b',
      'watch one "t w o" -r --ignore x --ignore /[.]tmp$/ --settle 50',
      '# Another comment.',
      'write a "b c"',
      'rm a',
      '~ create file a',
      '~ delete file "b c"',
      '= rename file a b replaced',
    ),
    'topic/case.txt',
  )
  expect(script).toMatchObject({
    file: 'topic/case.txt',
    promise: 'A promise.',
    only: [{ who: 'inotify', reason: 'a reason: good' }],
    setUp: [{ line: 4, given: { flags: new Set(['-p']), words: [{ text: 'a/b' }] } }],
    watch: {
      roots: [{ text: 'one' }, { text: 't w o' }],
      recursive: true,
      initial: false,
      settle: 50,
      ignore: ['x', /[.]tmp$/],
    },
    blocks: [
      { line: 5, steps: [], expected: { inotify: [] } },
      {
        line: 9,
        steps: [{ text: 'write a "b c"' }, { line: 8 }],
        expected: {
          inotify: [
            { loose: true, lines: ['create file a', 'delete file "b c"'] },
            { loose: false, lines: ['rename file a b replaced'] },
          ],
        },
      },
    ],
  })
})

test('each source has its lines, and the root is here', () => {
  const script = parse('# x\nwatch\n= create file a\nrm a\npoll= nothing\ninotify= anything', 'f')
  const line = [{ loose: false, lines: ['create file a'] }]
  expect(script.watch.roots).toEqual([{ text: '.', quoted: false }])
  expect(script.blocks).toMatchObject([
    { steps: [], expected: { inotify: line, poll: line } },
    { steps: [{}], expected: { inotify: 'anything', poll: [] } },
  ])
})

describe('a mistake is told by file, line and reason', () => {
  test.each([
    ['# x\nwatch\nfrob a\n= nothing', 3, 'unknown operation frob; there are write, '],
    ['# x\nwatch\n"rm" a\n= nothing', 3, 'unknown operation'],
    ['# x\nwatch\nmv a\n= nothing', 3, 'usage: mv FROM TO'],
    ['# x\nwatch\nmv a b c\n= nothing', 3, 'usage: mv FROM TO'],
    ['# x\nwatch\nmkdir\n= nothing', 3, 'usage: mkdir [-p] PATH...'],
    ['# x\nwatch\nrm -rf a\n= nothing', 3, 'unknown option -rf (if it is a name, quote it)'],
    ['# x\nwatch\nchmod 9 a\n= nothing', 3, '9 is no MODE'],
    ['# x\nwatch\ntruncate a -\n= nothing', 3, 'unknown option -'],
    ['# x\nwatch\ntruncate a b\n= nothing', 3, 'b is no SIZE'],
    ['# x\nwatch\nopen a b\n= nothing', 3, 'a handle begins with @'],
    ['# x\nwatch\nwrite "a\n= nothing', 3, 'a quoted word does not end: "a'],
    ['# x\nwatch\nwrite "a"b\n= nothing', 3, 'a quoted word does not end: "a"b'],
    ['# x\nwatch\nwrite "\\x"\n= nothing', 3, 'not a JSON string: "\\x"'],
    ['# x\nwatch\nrm a\n= remove file a', 4, "expected 'TYPE KIND PATH'"],
    ['# x\nwatch\nrm a\n= delete fil a', 4, 'KIND: file, directory, symlink, other'],
    ['# x\nwatch\nrm a\n= delete file', 4, "expected 'TYPE KIND PATH'"],
    ['# x\nwatch\nrm a\n= delete file a b', 4, "expected 'TYPE KIND PATH'"],
    ['# x\nwatch\nrm a\n= rename file a b gone', 4, "'rename KIND FROM TO [replaced]'"],
    ['# x\nwatch\nrm a\n= lost file a', 4, "'lost ROOT'"],
    ['# x\nwatch\nrm a\n=', 4, 'expected'],
    ['# x\nwatch\nrm a\n= nothing\n= delete file a', 5, "'nothing' stands alone"],
    ['# x\nwatch\nrm a\ninotify= delete file a\nrm b\n= nothing', 4, 'what does poll tell here?'],
    ['# x\nwatch\nrm a\n= nothing\nrm b', 5, 'what does inotify tell here?'],
    ['# x\nonly poll: it\nwatch\nrm a\ninotify= nothing', 5, 'the script is not played on inotify'],
    ['# x\nonly monday: it\nwatch\nrm a\n= nothing', 2, "usage: 'only inotify: REASON'"],
    ['# x\nonly root\nwatch\nrm a\n= nothing', 2, "usage: 'only inotify: REASON'"],
    ['# x\nwatch\nonly root: x\nrm a\n= nothing', 3, "'only' stands before 'watch'"],
    ['# x\nrm a\n= nothing', 3, 'nothing is told before the watch'],
    ['# x\nrm a', 2, "a 'watch' line is missing"],
    ['# x\nwatch\n', 2, 'nothing is expected'],
    ['# x\nwatch\nrm a\n= nothing\nwatch\n= nothing', 5, 'a script watches once'],
    ['# x\nwatch --recursive\n= nothing', 2, 'unknown option --recursive; usage: watch'],
    ['# x\nwatch --ignore\n= nothing', 2, '--ignore needs a value'],
    ['# x\nwatch --settle soon\n= nothing', 2, '--settle takes ms'],
    ['# x\nwatch --ignore /(/\n= nothing', 2, 'Invalid regular expression'],
    ['watch\n= nothing', 2, 'a comment that says what is promised is missing'],
    ['#\nwatch\n= nothing', 3, 'a comment that says what is promised is missing'],
  ])('%j', (text, line, reason) => {
    const parsing = () => parse(text, 'topic/case.txt')
    expect(parsing).toThrow(`topic/case.txt:${line}: `)
    expect(parsing).toThrow(reason)
  })
})

test('words', () => {
  expect(splitWords(' a  "b c" "" d"e ')).toEqual([
    { text: 'a', quoted: false },
    { text: 'b c', quoted: true },
    { text: '', quoted: true },
    { text: 'd"e', quoted: false },
  ])
  expect(['a b', 'a', 'a\nb', '', '\x1b', '\x7f', 'größe', '\udcff'].map(spell)).toEqual([
    '"a b"',
    'a',
    '"a\\nb"',
    '""',
    '"\\u001b"',
    '"\\u007f"',
    'größe',
    '"\\udcff"',
  ])
})

test.each([[[0xff]], [[0x61, 0xc3]], [[0xc3, 0xa9, 0xfe, 0xf0, 0x9f, 0x98, 0x80]], [[0x61]]])(
  'bytes %j are spelt and read back',
  (bytes) => {
    expect(bytesOf(JSON.parse(JSON.stringify(textOf(Buffer.from(bytes)))))).toEqual(Buffer.from(bytes))
  },
)

test('the README names every operation as it is used', () => {
  const readme = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8')
  const missing = [...operations.values()].filter(({ usage }) => !readme.includes(usage))
  expect(missing.map(({ usage }) => usage)).toEqual([])
})
