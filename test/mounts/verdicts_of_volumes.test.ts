// Verdicts of diagnose() on the volumes and single files of containers.
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { examine } from '../../src/mounts/diagnosis/examine.ts'
import { imagine, volume } from './imagined.ts'
import { delivered, MIRROR, silent, testVerdicts } from './verdicts.ts'

testVerdicts({
  'Kata: a ConfigMap on virtiofs': {
    table: 'kata_guest',
    path: '/etc/config',
    files: volume('/etc/config', 'app.yaml'),
    is: silent,
    level: 'bad',
    verdict: /^A plain watcher will miss changes made by the host\.$/,
    because:
      /This is Kata \(the host's share 'kataShared' \(virtiofs\) is mounted\): this is a virtual machine/,
    advice: [/watch\(\).*polls \/etc\/config \(virtiofs\)/, MIRROR, /mirror \/etc\/config TARGET/],
  },
  'Kata: a key of it': {
    table: 'kata_guest',
    path: '/etc/config/app.yaml',
    files: volume('/etc/config', 'app.yaml'),
    is: silent,
    level: 'bad',
    verdict: /changes made by the host/,
    advice: [/watch\(\)/, /mirror \/etc\/config TARGET/],
  },
  'Kata: a small ConfigMap, which the agent copies to a tmpfs': {
    table: 'kata_guest',
    path: '/etc/watched/app.yaml',
    files: volume('/etc/watched', 'app.yaml'),
    is: delivered,
    level: 'partly',
    verdict: /waits for IN_MOVED_TO hears nothing here: Kata's agent/,
    because: /every 2 s, in place/,
    advice: [/IN_CREATE and IN_CLOSE_WRITE in \/etc\/watched.*mirror \/etc\/watched TARGET/],
  },
  'Kata: a single file on virtiofs': {
    table: 'kata_guest',
    path: '/etc/resolv.conf',
    files: { '/etc/resolv.conf': 'file' },
    is: { ...silent, pinned: 'static' },
    level: 'partly',
    verdict: /what the container engine writes/,
    advice: [/watch\(\)/, MIRROR],
  },
  'a subPath before the first update': {
    table: 'subpath',
    path: '/etc/app/app.yaml',
    files: { '/etc/app/app.yaml': 'file' },
    is: { ...delivered, pinned: 'static' },
    level: 'bad',
    verdict: /will not follow an update: it is a subPath mount/,
    because: /subPath of a volume \('config'\): it keeps the file/,
    advice: [
      /replace \{ name: config, mountPath: \/etc\/app\/app\.yaml, subPath: app\.yaml \} by \{ name: config, mountPath: \/etc\/app \}/,
      /\{ name: config, mountPath: \/etc\/app-config \}.*read \/etc\/app-config\/app\.yaml/,
      /configMap: \{ name: CONFIGMAP, items: \[\{ key: app\.yaml, path: app\.yaml \}\] \}/,
    ],
  },
  'a subPath after an update': {
    table: 'subpath',
    path: '/etc/app/old.yaml',
    files: { '/etc/app/old.yaml': 'gone' },
    is: { pinned: 'stale' },
    level: 'bad',
    verdict: /^This file is stale: it is a subPath mount/,
    because: /what it was made of is gone: the mount table has '\/\/deleted'/,
    advice: [/kubectl rollout restart/, /without subPath/, /items: \[\{ key: old\.yaml/],
  },
  "a Secret's subPath before an update": {
    table: 'subpath',
    path: '/etc/tls/tls.key',
    files: { '/etc/tls/tls.key': 'file' },
    is: { pinned: 'static' },
    level: 'bad',
    verdict: /subPath mount/,
    advice: [
      /\{ name: VOLUME, mountPath: \/etc\/tls \}/,
      /secret: \{ secretName: SECRET, items: \[\{ key: tls\.key/,
    ],
  },
  "a Secret's subPath after an update": {
    table: 'subpath',
    path: '/etc/tls/tls.crt',
    files: { '/etc/tls/tls.crt': 'gone' },
    is: { pinned: 'stale' },
    level: 'bad',
    verdict: /stale/,
    advice: [/kubectl rollout restart/, /secretName/],
  },
  'docker -v file:file': {
    table: 'pod',
    path: '/opt/app/app.yaml',
    files: { '/opt/app/app.yaml': 'file' },
    is: { ...delivered, pinned: 'static' },
    level: 'bad',
    verdict: /will not follow an update: it is a mount of a single file/,
    advice: [
      /in place of '-v \/srv\/app\.yaml:\/opt\/app\/app\.yaml' use '-v \/srv:\/opt\/app'/,
      /change the source in place/,
    ],
  },
  "the container engine's own file": {
    table: 'docker',
    path: '/etc/hosts',
    files: { '/etc/hosts': 'file' },
    is: { ...delivered, pinned: 'static' },
    level: 'partly',
    verdict: /the container engine writes into this file in place/,
  },
  'a ConfigMap on the disk of the node': {
    table: 'pod',
    path: '/etc/config',
    files: volume('/etc/config', 'app.yaml'),
    is: delivered,
    level: 'good',
    verdict: /an update is an IN_MOVED_TO of \.\.data, and none names a file/,
    advice: [/IN_MOVED_TO of '\.\.data' \(Envoy: watched_directory: \{ path: \/etc\/config \}\)/],
  },
  'a key of it, which no event names': {
    table: 'pod',
    path: '/etc/config/app.yaml',
    files: volume('/etc/config', 'app.yaml'),
    is: delivered,
    level: 'partly',
    verdict: /Events arrive in \/etc\/config, but none names this file.*goes silent/,
    advice: [/Watch the directory \/etc\/config, not the file/],
  },
  'a Secret on its tmpfs': {
    table: 'pod',
    path: '/etc/tls/tls.key',
    files: volume('/etc/tls', 'tls.key'),
    is: delivered,
    level: 'partly',
    verdict: /Events arrive in \/etc\/tls, but none names/,
    advice: [/Watch the directory \/etc\/tls/],
  },
  'a projected volume': {
    table: 'pod',
    path: '/var/run/secrets/kubernetes.io/serviceaccount/token',
    files: volume('/var/run/secrets/kubernetes.io/serviceaccount', 'token'),
    is: delivered,
    level: 'partly',
    verdict: /none names this file/,
    advice: [/Watch the directory \/var\/run\/secrets\/kubernetes\.io\/serviceaccount/],
  },
  'an emptyDir in memory': {
    table: 'pod',
    path: '/cache',
    is: delivered,
    level: 'good',
    verdict: /^Events arrive here: a plain inotify watcher sees every change\.$/,
  },
})

test('a subPath over virtiofs is stale by the link count alone', async () => {
  const of = async (file: string) =>
    (await examine('/etc/hosts', imagine('kata_guest', { files: { '/etc/hosts': file } }))).diagnosis
  expect((await of('file')).pinned).toBe('static')
  const stale = await of('gone')
  expect(stale.pinned).toBe('stale')
  expect(stale.reasons.join()).toMatch(/the file that it shows has 0 names left/)
})

test('the lines of a manifest that are advised are YAML, whatever the names', async () => {
  for (const path of ['/etc/app/app.yaml', '/etc/tls/tls.key']) {
    const { diagnosis } = await examine(path, imagine('subpath', { files: { [path]: 'file' } }))
    const lines = diagnosis.advice.flatMap((text) => text.match(/\{ name: .*?\}(?= by|:|,|\.$)/g) ?? [])
    expect(lines.length).toBeGreaterThan(2)
    for (const line of lines) expect(parse(line)).toMatchObject({ name: expect.any(String) })
  }
})
