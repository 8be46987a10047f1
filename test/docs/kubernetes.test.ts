// docs/kubernetes.md: compares its manifests with those of the examples, and tries its lines of kubectl and
// systemd as far as possible without a cluster.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isThere } from '../../examples/stage.mjs'
import { MAIN, Program } from '../cli/command.ts'
import { faultsOf } from '../examples/schema.ts'
import { scratch } from '../support/scratch.ts'
import { blocksOf, proseOf, ROOT } from './pages.ts'

const PAGE = 'docs/kubernetes.md'
const blocks = blocksOf(PAGE)

test.each(['mirror-patch.yaml', 'envoy/kustomization.yaml'])('it shows %s as it is', (name) => {
  const shown = blocks.filter(({ language }) => language === 'yaml').map(({ text }) => text)
  expect(shown).toContain(readFileSync(join(ROOT, 'examples/kubernetes', name), 'utf8'))
})

test('the verdicts that it explains are those of diagnose', () => {
  const folder = join(ROOT, 'src/mounts/diagnosis')
  const source = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('')
  const [table = ''] = /\| the first line says[\s\S]*?\n\n/.exec(proseOf(PAGE)) ?? []
  const quoted = [...table.matchAll(/^\|[^|]*\|/gm)].flatMap(([cell]) => [...cell.matchAll(/\*([^*]+)\*/g)])
  expect(quoted.length).toBeGreaterThan(6)
  for (const [, verdict = ''] of quoted) expect(source).toContain(verdict)
})

const debugLines = blocks.flatMap(({ text }) => text.match(/^kubectl debug .*$/gm) ?? [])

test('it begins with the line that asks a pod', () => {
  expect(debugLines.length).toBe(3)
  for (const line of debugLines) expect(line).toMatch(/ --image=IMAGE .*-- inotify-bridge diagnose \//)
})

test('what it adds to a debugging container is of the schema', async () => {
  const added = blocks.flatMap(({ text }) => [...text.matchAll(/^echo '(.*)' > \w+\.json$/gm)])
  expect(added.length).toBe(2)
  for (const [, json = ''] of added) {
    const containers = [{ name: 'debugger', image: 'IMAGE', ...JSON.parse(json) }]
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'pod' }, spec: { containers } }
    expect(await faultsOf(pod)).toEqual([])
  }
})

test.skipIf(!isThere('kubectl'))('kubectl knows each flag of its lines (needs kubectl)', () => {
  for (const { text } of blocks.filter(({ language }) => language === 'sh'))
    for (const [, command = '', rest = ''] of text.matchAll(/^kubectl (\S+) (.*?)(?: -- .*| +#.*)?$/gm)) {
      const { stdout } = spawnSync('kubectl', [command, '--help'], { encoding: 'utf8' })
      for (const [flag] of rest.matchAll(/(?<= )--[a-z-]+/g)) expect(stdout, command).toContain(`${flag}=`)
    }
})

/**
 * A container whose process 1 is of this user and has a ConfigMap at /etc/envoy/xds, and what a container says that has joined its process namespace
 * and has its own mounts, of that path.
 */
async function debug(user: number, by: string[]): Promise<{ status: number | null; output: string }> {
  const script = `
    mount -t tmpfs none /etc
    mkdir -p /etc/envoy/xds/..one
    echo 'color: red' >/etc/envoy/xds/..one/cds.yaml
    ln -s ..one /etc/envoy/xds/..data
    ln -s ..data/cds.yaml /etc/envoy/xds/cds.yaml
    exec setpriv --reuid ${user} --regid ${user} --clear-groups --bounding-set=-all sh -c 'echo ready; exec sleep 1000'`
  const pod = new Program('unshare', ['-mpf', '--mount-proc', 'sh', '-ec', script])
  await pod.until('stdout', /ready/)
  const first = readFileSync(`/proc/${pod.pid}/task/${pod.pid}/children`, 'utf8').trim()
  // unshare --kill-child does nothing for another user's process: prctl(2), PR_SET_PDEATHSIG.
  onTestFinished(() => void process.kill(Number(first), 'SIGKILL'))
  const words = (debugLines[0] ?? '')
    .split(' -- inotify-bridge ')[1]
    ?.replace('PATH', 'etc/envoy/xds')
    .split(' ')
  const line = ['unshare', '-m', 'sh', '-ec', 'mount -t proc none /proc; exec "$@"', 'sh', ...by]
  const { status, stdout, stderr } = spawnSync(
    'nsenter',
    ['-t', first, '-p', '--', ...line, process.execPath, MAIN, ...(words ?? [])],
    { encoding: 'utf8', env: { ...process.env, NODE_EXTRA_CA_CERTS: '' } },
  )
  return { status, output: stdout + stderr }
}

const as = (user: number) => ['setpriv', '--reuid', `${user}`, '--regid', `${user}`, '--clear-groups']
const withPtrace = ['--bounding-set=-all,+sys_ptrace']
const canDebug = process.getuid?.() === 0 && existsSync(MAIN)

describe.skipIf(!canDebug)(`kubectl debug${canDebug ? '' : ' (needs root and dist)'}`, () => {
  test.each([
    ['the user of the container', 101, [...as(101), '--bounding-set=-all']],
    ['root with CAP_SYS_PTRACE, as --profile=general gives it', 101, [...as(0), ...withPtrace]],
    ['root, of a container of root', 0, [...as(0), '--bounding-set=-all']],
  ])('%s is told of the mount in the container', async (_, user, by) => {
    const { status, output } = await debug(user, by)
    expect(output).toMatch(/^\/proc\/1\/root\/etc\/envoy\/xds: Events arrive here/)
    expect(output).toMatch(/^ *mount +tmpfs /m)
    expect(status).toBe(0)
  })

  test.each([
    ['another user', [...as(65532), '--bounding-set=-all']],
    ['root without CAP_SYS_PTRACE', [...as(0), '--bounding-set=-all']],
  ])('%s is told what the page says', async (_, by) => {
    const { status, output } = await debug(101, by)
    expect(output).toContain("EACCES: permission denied, statx '/proc/1/root/")
    expect(proseOf(PAGE)).toContain("`EACCES: permission denied, statx '/proc/1/root/...'`")
    expect(status).toBe(1)
  })
})

test.skipIf(!isThere('systemd-analyze'))('the unit is right (needs systemd-analyze)', () => {
  const unit = blocks.find(({ language }) => language === 'ini')?.text ?? ''
  const [, command = ''] = /^ExecStart=\S+inotify-bridge (.*)$/m.exec(unit) ?? []
  expect(command).toMatch(/^mirror /)
  const file = join(scratch(), 'config-mirror.service')
  // systemd-analyze looks whether the program is there.
  writeFileSync(file, unit.replace('/usr/local/bin/inotify-bridge', process.execPath))
  expect(execFileSync('systemd-analyze', ['verify', file], { encoding: 'utf8', stdio: 'pipe' })).toBe('')
})
