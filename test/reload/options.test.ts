import { expect, test } from 'vitest'
import { readOptions } from '../../src/reload/options.ts'

const command = { command: ['true'] }

test('the defaults, and paths made absolute', () => {
  expect(readOptions({ paths: ['a', './a', '/b'], action: command })).toEqual({
    paths: [`${process.cwd()}/a`, '/b'],
    validate: undefined,
    action: command,
    delay: 1000,
    interval: 60_000,
    retry: 5000,
    timeout: 30_000,
  })
})

test.each([
  ['no paths', { paths: [], action: command }, 'options.paths'],
  ['an empty path', { paths: [''], action: command }, 'options.paths'],
  ['a NUL in a path', { paths: ['a\0b'], action: command }, 'options.paths'],
  ['a shell command', { paths: ['a'], validate: 'nginx -t', action: command }, 'options.validate'],
  [
    'a restart that is neither yes nor no',
    { paths: ['a'], action: { command: ['true'], restart: 1 } },
    'options.action.restart',
  ],
  ['an empty program', { paths: ['a'], action: { command: [''] } }, 'options.action.command'],
  ['no action', { paths: ['a'] }, 'options.action'],
  [
    'a body that is not looked at',
    { paths: ['/a'], action: { http: { url: 'http://b/', body: '/ab' } } },
    'options.action.http.body',
  ],
  [
    'a body of a GET',
    { paths: ['/a'], action: { http: { url: 'http://b/', body: '/a/b', method: 'GET' } } },
    'options.action.http',
  ],
  ['two actions', { paths: ['a'], action: { ...command, http: { url: 'http://a' } } }, 'options.action'],
  ['an unknown signal', { paths: ['a'], action: { signal: 'SIGHOP', pid: 1 } }, 'options.action.signal'],
  ['a signal to nobody', { paths: ['a'], action: { signal: 'SIGHUP' } }, 'options.action'],
  ['a signal to two', { paths: ['a'], action: { signal: 'SIGHUP', pid: 1, process: 'a' } }, 'options.action'],
  ['a whole group', { paths: ['a'], action: { signal: 'SIGHUP', pid: -1 } }, 'options.action.pid'],
  ['everybody', { paths: ['a'], action: { signal: 'SIGHUP', pid: 0 } }, 'options.action.pid'],
  [
    'a path as a name',
    { paths: ['a'], action: { signal: 'SIGHUP', process: '/bin/sh' } },
    'options.action.process',
  ],
  [
    'another protocol',
    { paths: ['a'], action: { http: { url: 'file:///etc/passwd' } } },
    'options.action.http.url',
  ],
  [
    'a password in an URL',
    { paths: ['a'], action: { http: { url: 'http://a:secret@b/' } } },
    'options.action.http.url',
  ],
  [
    'a method that is none',
    { paths: ['a'], action: { http: { url: 'http://b/', method: 'A B' } } },
    'options.action.http',
  ],
  [
    'a pod',
    { paths: ['a'], action: { rollout: { kind: 'Pod', namespace: 'a', name: 'a' } } },
    'options.action.rollout.kind',
  ],
  [
    'a way out of a namespace',
    { paths: ['a'], action: { rollout: { kind: 'Deployment', namespace: 'a/../b', name: 'a' } } },
    'options.action.rollout.namespace',
  ],
  ['a delay below 0', { paths: ['a'], action: command, delay: -1 }, 'options.delay'],
  [
    'an interval that no timer can wait for',
    { paths: ['a'], action: command, interval: 2 ** 31 },
    'options.interval',
  ],
  ['a timeout that is no number', { paths: ['a'], action: command, timeout: '1s' }, 'options.timeout'],
])('%s: a TypeError that names it', (_, options, name) => {
  expect(() => readOptions(options as never)).toThrow(
    expect.objectContaining({
      name: 'TypeError',
      code: 'ERR_INVALID_ARG_VALUE',
      message: expect.stringContaining(`${name} must be`),
    }),
  )
})

test('a password is not repeated', () => {
  const options = { paths: ['a'], action: { http: { url: 'http://a:secret@b/' } } }
  expect(() => readOptions(options)).toThrow(expect.not.stringContaining('secret'))
})
