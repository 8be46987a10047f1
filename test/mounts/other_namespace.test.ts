// diagnose() of /proc/PID/root/...: what a container has mounted, asked about from another one (kubectl debug --target).
import { expect, test } from 'vitest'
import { examineHere } from '../../src/mounts/diagnosis/examine.ts'
import { enterNamespace, mayUnshare } from './namespace.ts'

const VOLUME = `
  mkdir -p 'vol/..one' app 'a b' below/tmp
  echo 'color: red' >vol/..one/app.yaml
  ln -s ..one vol/..data
  ln -s ..data/app.yaml vol/app.yaml
  touch app/app.yaml 'a b/app.yaml'
  mount --bind vol/..one/app.yaml app/app.yaml
  mount --bind vol/..one/app.yaml 'a b/app.yaml'
  mount -t tmpfs none below/tmp`

interface Case {
  path: string
  script?: string
  verdict: RegExp
  pinned?: string
}

test.skipIf(!mayUnshare).each<Case>([
  { path: 'app/app.yaml', verdict: /will not follow an update/, pinned: 'static' },
  { path: 'a b/app.yaml', verdict: /will not follow an update/, pinned: 'static' },
  { path: 'app/app.yaml', script: 'rm vol/..one/app.yaml', verdict: /This file is stale/, pinned: 'stale' },
  { path: 'app', verdict: /Events arrive here/ },
  { path: 'vol', verdict: /Events arrive here: an update is an IN_MOVED_TO of \.\.data/ },
  { path: 'vol/app.yaml', verdict: /none names this file/ },
  { path: 'below/tmp', verdict: /Events arrive here/ },
])('$path in another mount namespace ($script): $verdict (needs root, or user namespaces)', async (row) => {
  const { path, script = '', verdict, pinned = 'no' } = row
  using namespace = await enterNamespace(`mount -t tmpfs none .; cd "$PWD"\n${VOLUME}\n${script}`)
  const inside = `${namespace.directory}/${path}`
  const { diagnosis, verdict: found } = await examineHere(namespace.reach(inside))
  expect(found.text).toMatch(verdict)
  expect(diagnosis).toMatchObject({ pinned, mount: { type: 'tmpfs' } })
  // As this process reaches it.
  expect(namespace.reach(inside)).toContain(diagnosis.mount.point)
  expect(diagnosis.mount.point).not.toBe('')
  // As the manifest of the container has it.
  const advice = diagnosis.advice.join('\n')
  expect(advice).not.toContain('/proc/')
  if (pinned !== 'no') expect(advice).toContain(`:${inside}`)
})

test.skipIf(!mayUnshare)(
  'of a process that is gone it is ENOENT (needs root, or user namespaces)',
  async () => {
    using namespace = await enterNamespace('')
    const path = namespace.reach('/etc').replace(/\d+/, '4194304')
    await expect(examineHere(path)).rejects.toMatchObject({ code: 'ENOENT' })
  },
)
