// Each function refuses options that do not exist: such an option would have no effect without a word.
import { describe, expect, test } from 'vitest'
import {
  Inotify,
  type InotifyOptions,
  mirror,
  publishDirectory,
  reload,
  replaceFile,
  watch,
} from '../src/index.ts'
import { run } from '../src/run/run.ts'

const action = { command: ['true'] }
const FUNCTIONS: ReadonlyArray<[name: string, call: (options: object) => unknown, options: string[]]> = [
  [
    'watch',
    (options) => watch('/', options),
    [
      ...[
        'recursive',
        'depth',
        'backend',
        'interval',
        'initial',
        'since',
        'expand',
        'followSymlinks',
        'hash',
      ],
      ...['followRoots', 'ignore', 'settle', 'encoding', 'signal', 'persistent'],
    ],
  ],
  [
    'Inotify',
    (options) => new Inotify(options as InotifyOptions),
    ['batchWindow', 'maxQueuedBytes', 'persistent'],
  ],
  [
    'mirror',
    (options) => mirror('/none', '/none', options),
    ['interval', 'quiet', 'limits', 'overLimit', 'signal'],
  ],
  [
    'reload',
    (options) => reload({ paths: ['/none'], action, ...options }),
    ['validate', 'delay', 'interval', 'retry', 'timeout'],
  ],
  ['run', (options) => run('true', [], options), ['interval', 'backend', 'onFailure', 'signal', 'stdio']],
  ['replaceFile', (options) => replaceFile('/none/x', '', options), ['mode']],
  ['publishDirectory', (options) => publishDirectory('/none', {}, options), ['mode']],
]

/** A letter too many, one too few, two that have changed places, another case. */
const misspelt = (name: string) => [
  `${name}s`,
  name.slice(0, -1),
  `${name[1]}${name[0]}${name.slice(2)}`,
  name.toUpperCase(),
]

describe.each(FUNCTIONS)('%s', (_, call, options) => {
  const refusal = async (given: object) => {
    try {
      await call(given)
      return undefined
    } catch (error) {
      return error
    }
  }

  test.each(options.flatMap((name) => misspelt(name).map((wrong) => [wrong, name])))(
    '%s is refused, and %s named',
    async (wrong, name) => {
      expect(await refusal({ [wrong]: undefined })).toMatchObject({
        name: 'TypeError',
        code: 'ERR_INVALID_ARG_VALUE',
        message: `options.${wrong} is no option (did you mean ${name}?)`,
      })
    },
  )

  test('of one that is like none, all that there are are named', async () => {
    const { message } = (await refusal({ something: 1 })) as Error
    expect(message).toMatch(/^options\.something is no option \(there are /)
    for (const name of options) expect(message).toContain(name)
  })

  test.each([null, 'utf8', 5, [[]]])('options that are %j are refused', async (given) => {
    if (call.toString().includes('...options')) return
    expect(await refusal(given as object)).toMatchObject({
      code: 'ERR_INVALID_ARG_VALUE',
      message: expect.stringContaining('options must be an object'),
    })
  })
})

test.each([
  ['ignored', "ignored is chokidar's; here: ignore"],
  ['ignoreInitial', '`initial`'],
  ['usePolling', "backend: 'poll'"],
  ['awaitWriteFinish', 'settle'],
  ['debounce', 'settle'],
  ['exclude', 'ignore'],
  ['toString', 'there are'],
])("watch() says what another library's %s is here", (name, here) => {
  expect(() => watch('/', { [name]: true })).toThrow(here)
})

test.each([
  [{ signal: 'SIGHUP', pidfile: '/x' }, /pidFile/],
  [{ command: ['true'], shell: true }, /options\.action\.shell is no option/],
  [{ http: { url: 'http://localhost/', methode: 'GET' } }, /did you mean method\?/],
])('of what reload() does, too: %j', (wrong, message) => {
  expect(() => reload({ paths: ['/none'], action: wrong as unknown as typeof action })).toThrow(message)
})
