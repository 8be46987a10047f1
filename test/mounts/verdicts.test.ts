// What diagnose() says of every kind of place that a watcher is put to, by mount tables as they were recorded there.
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Examination, examine } from '../../src/mounts/diagnosis/diagnose.ts'
import { type Files, imagine, volume } from './imagined.ts'

interface Case {
  table: string
  path: string
  files?: Files
  version?: string
  /** Of the diagnosis. */
  is: Partial<Examination['diagnosis']>
  level: Examination['verdict']['level']
  verdict: RegExp
  /** What is said in `reasons`. */
  because?: RegExp
  /** Each is in some item of the advice; none: there is no advice. */
  advice?: RegExp[]
}

const WSL2 = 'Linux version 5.15.153.1-microsoft-standard-WSL2 (root@941d701f84f1)'
const GVISOR = 'Linux version 4.19.0-gvisor #1 SMP Sun Jan 10 15:06:54 PST 2016'
const OLD_GVISOR = 'Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016'
const delivered = { local: 'delivered', remote: 'none', pinned: 'no', backend: 'inotify' } as const
const silent = { local: 'delivered', remote: 'silent', pinned: 'no', backend: 'inotify+poll' } as const
const MIRROR = /inotify-bridge mirror \/\S+ TARGET.*tmpfs.*--in-place/

const CASES: Record<string, Case> = {
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
  "a container's own root": {
    table: 'docker',
    path: '/srv',
    files: { '/srv/x': 'file' },
    is: { local: 'delivered', remote: 'silent', backend: 'inotify' },
    level: 'good',
    verdict: /all that is changed through this path; only a layer/,
    advice: [/backend: 'poll'/],
  },
  'an overlay whose lower directory was changed: the old file stays, without a name': {
    table: 'server',
    path: '/merged/file',
    files: { '/merged/file': 'gone' },
    is: { remote: 'silent', backend: 'inotify', pinned: 'no' },
    level: 'bad',
    verdict: /layer behind this overlay was changed directly/,
    advice: [/mount the overlay again/i],
  },
  'NFS 4': {
    table: 'server',
    path: '/mnt/nfs',
    is: silent,
    level: 'bad',
    verdict: /miss changes made by the server or other clients/,
    advice: [/watch\(\)/, MIRROR],
  },
  CIFS: {
    table: 'server',
    path: '/mnt/share',
    is: silent,
    level: 'bad',
    verdict: /miss changes made by the server or other clients/,
    advice: [MIRROR],
  },
  'FUSE: sshfs': {
    table: 'server',
    path: '/mnt/sshfs',
    is: silent,
    level: 'bad',
    verdict: /miss changes made by whoever is behind the FUSE server/,
    advice: [MIRROR],
  },
  '9p with cache=loose': {
    table: 'server',
    path: '/mnt/loose',
    is: silent,
    level: 'bad',
    verdict: /miss changes made by the host/,
    advice: [MIRROR],
  },
  '9p without a cache': {
    table: 'server',
    path: '/mnt/plain',
    is: { local: 'lost', remote: 'silent', backend: 'poll' },
    level: 'bad',
    verdict: /hears nothing here, neither of changes made by the host nor of those made on this machine/,
    advice: [/cache=loose/, MIRROR],
  },
  'WSL 2: a drive of Windows': {
    table: 'wsl2',
    path: '/mnt/c',
    version: WSL2,
    is: { local: 'lost', backend: 'poll' },
    level: 'bad',
    verdict: /hears nothing here/,
    because: /^This is WSL 2 \(\/proc\/version names Microsoft\)/m,
    advice: [/WSL's own disk \(\/home\), not below \/mnt\/c/, MIRROR],
  },
  'WSL 2: its own disk': {
    table: 'wsl2',
    path: '/home/me',
    files: { '/home/me/x': 'file' },
    version: WSL2,
    is: delivered,
    level: 'good',
    verdict: /sees every change/,
  },
  'gVisor: a volume of the host': {
    table: 'gvisor',
    path: '/etc/config',
    version: GVISOR,
    files: volume('/etc/config', 'app.yaml'),
    is: silent,
    level: 'bad',
    verdict: /miss changes made by the host/,
    because: /^This is gVisor \(\/proc\/version names it\): inotify is that of the sandbox/m,
    advice: [/watch\(\)/, MIRROR],
  },
  'gVisor: its root, of a version that hides': {
    table: 'gvisor',
    path: '/',
    version: OLD_GVISOR,
    is: { local: 'delivered', backend: 'inotify' },
    level: 'good',
    verdict: /changed through this path/,
    because: /^This is gVisor \(\/proc\/version has its date/m,
    advice: [/backend: 'poll'/],
  },
  'Docker Desktop: a directory of the Mac': {
    table: 'docker_desktop',
    path: '/app',
    is: { local: 'delivered', remote: 'unknown', backend: 'inotify+poll' },
    level: 'partly',
    verdict: /may miss changes made by the host/,
    because: /^This is Docker Desktop \(a directory of the host is mounted at \/app \(fakeowner\)\)/m,
    advice: [/watch\(\)/, MIRROR],
  },
  'Docker Desktop: gRPC FUSE': {
    table: 'docker_desktop',
    path: '/old',
    is: { remote: 'unknown', backend: 'inotify+poll' },
    level: 'partly',
    verdict: /may miss changes made by the host/,
    advice: [MIRROR],
  },
  'Docker Desktop: virtiofs': {
    table: 'docker_desktop',
    path: '/virtio',
    is: silent,
    level: 'bad',
    verdict: /will miss changes made by the host/,
    advice: [MIRROR],
  },
  'a symlink on a silent mount that leads to a safe one': {
    table: 'server',
    path: '/mnt/nfs/current',
    files: { '/mnt/nfs/current': '-> /srv/v1', '/srv/v1': 'file' },
    is: { remote: 'none', local: 'delivered', backend: 'inotify+poll' },
    level: 'bad',
    verdict:
      /miss a change of the symlink \/mnt\/nfs\/current made by the server or other clients: it lies on nfs4/,
    advice: [/watch\(\)/, MIRROR],
  },
  'a symlink on a safe mount that leads to a silent one': {
    table: 'server',
    path: '/srv/current',
    files: { '/srv/current': '-> /mnt/nfs/v1', '/mnt/nfs/v1': 'file' },
    is: { remote: 'silent', backend: 'inotify+poll' },
    level: 'bad',
    verdict: /^A plain watcher will miss changes made by the server/,
    advice: [MIRROR],
  },
  'a file of /proc': {
    table: 'server',
    path: '/proc/meminfo',
    files: { '/proc/meminfo': 'file' },
    is: { local: 'lost', backend: 'poll' },
    level: 'bad',
    verdict: /No watcher hears of changes here: the kernel makes this content/,
    advice: [/Read the files themselves at intervals/],
  },
  'a file of /sys': {
    table: 'server',
    path: '/sys/class/net/eth0/carrier',
    files: { '/sys/class/net/eth0/carrier': 'file' },
    is: { local: 'lost', backend: 'poll' },
    level: 'bad',
    verdict: /the kernel makes this content/,
    advice: [/at intervals/],
  },
  'a control group': {
    table: 'server',
    path: '/sys/fs/cgroup/a/cgroup.events',
    files: { '/sys/fs/cgroup/a/cgroup.events': 'file' },
    is: delivered,
    level: 'good',
    verdict: /\*\.events files; counters change without an event/,
    advice: [/memory\.events/],
  },
  'a read-only squashfs': {
    table: 'server',
    path: '/snap/core/1',
    is: delivered,
    level: 'good',
    verdict: /^Nothing changes here: squashfs is read-only\.$/,
  },
  'a plain directory of the disk': {
    table: 'server',
    path: '/srv',
    files: { '/srv/x': 'file' },
    is: delivered,
    level: 'good',
    verdict: /sees every change/,
  },
}

describe.each(Object.entries(CASES))(
  '%s',
  (_, { table, path, is, level, verdict, because, advice = [], ...more }) => {
    test.each([false, true])('of a kernel that says no mount ids: %s', async (withoutIds) => {
      const found = await examine(path, imagine(table, { ...more, withoutIds }))
      expect(found.diagnosis).toMatchObject({ path, ...is })
      expect(found.verdict).toEqual({ level, text: expect.stringMatching(verdict) })
      if (because !== undefined) expect(found.diagnosis.reasons.join('\n')).toMatch(because)
      for (const item of advice) expect(found.diagnosis.advice).toContainEqual(expect.stringMatching(item))
      if (advice.length === 0) expect(found.diagnosis.advice).toEqual([])
    })
  },
)

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

describe('limits', () => {
  const holders = [{ pid: 77, name: 'node', instances: 2, watches: 900 }]
  const of = (limits: object) =>
    examine('/srv/x', imagine('server', { files: { '/srv/x': 'file' }, limits, holders }))

  test('all watches are used up: nothing new works, and who holds most', async () => {
    const { verdict, diagnosis } = await of({ watchesInUse: 1000 })
    expect(verdict).toEqual({
      level: 'bad',
      text: expect.stringMatching(
        /^No new watcher works for this user: 1000 of 1000 inotify watches are in use\. Events arrive/,
      ),
    })
    expect(diagnosis.advice).toEqual([
      expect.stringMatching(
        /max_user_watches is 1000 and 1000 are in use; node \(pid 77\) has most: 900 watches, 2 instances.*max_user_watches=2000/,
      ),
    ])
  })

  test('all instances are used up', async () => {
    const { verdict, diagnosis } = await of({ instancesInUse: 128 })
    expect(verdict.text).toMatch(/128 of 128 inotify instances/)
    expect(diagnosis.advice[0]).toMatch(/max_user_instances=256/)
  })

  test('nearly used up is advised of, not judged', async () => {
    expect((await of({ watchesInUse: 900 })).diagnosis.advice).toEqual([])
    const { verdict, diagnosis } = await of({ watchesInUse: 901 })
    expect(verdict.level).toBe('good')
    expect(diagnosis.advice).toEqual([expect.stringMatching(/901 are in use/)])
  })

  test('a queue that is smaller than usual overflows', async () => {
    const { diagnosis } = await of({ maxQueuedEvents: 256 })
    expect(diagnosis.advice).toEqual([
      expect.stringMatching(/max_queued_events is 256.*IN_Q_OVERFLOW.*max_queued_events=16384/),
    ])
  })

  test('one that /proc does not tell is not judged', async () => {
    const unknown = { maxUserWatches: Number.NaN, maxUserInstances: Number.NaN, maxQueuedEvents: Number.NaN }
    const { verdict, diagnosis } = await of(unknown)
    expect([verdict.level, diagnosis.advice]).toEqual(['good', []])
  })
})

describe('what cannot be reached', () => {
  test.each([
    [
      'a path that does not exist',
      '/srv/no/such',
      {},
      'ENOENT',
      /there is no \/srv; make it, or .* watch\(\) waits/,
    ],
    [
      'a symlink that leads nowhere',
      '/etc/link',
      { '/etc/link': '-> /etc/gone' },
      'ENOENT',
      /the symlink \/etc\/link leads to \/etc\/gone, which is not there/,
    ],
    [
      'a directory that may not be searched',
      '/root/x',
      { '/root/x': 'EACCES' },
      'EACCES',
      /uid \d+ may not look for \/root\/x; search permission/,
    ],
    [
      'a server that forgot',
      '/mnt/nfs/x',
      { '/mnt/nfs/x': 'ESTALE' },
      'ESTALE',
      /asked for \/mnt\/nfs\/x; .*mount it again/,
    ],
    [
      'a FUSE server that is gone',
      '/mnt/sshfs',
      { '/mnt/sshfs': 'ENOTCONN' },
      'ENOTCONN',
      /the FUSE server behind the mount is gone/,
    ],
  ])('%s', async (_, path, files: Files, code, hint) => {
    const failed = examine(path, imagine('server', { files }))
    await expect(failed).rejects.toMatchObject({
      code,
      syscall: 'statx',
      path,
      hint: expect.stringMatching(hint),
    })
  })

  test('a mount that does not answer: which, and what it is', async () => {
    const files = { '/mnt/nfs/a': 'silence' }
    const failed = examine('/mnt/nfs/a/b', imagine('server', { files }), 50)
    await expect(failed).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      path: '/mnt/nfs/a/b',
      hint: expect.stringMatching(
        /^the mount at \/mnt\/nfs \(nfs4\) has not answered for 0\.05 s, .*\/mnt\/nfs\/a: .*umount -l \/mnt\/nfs/,
      ),
      mount: expect.objectContaining({ point: '/mnt/nfs', source: 'filer:/export' }),
    })
  })
})
