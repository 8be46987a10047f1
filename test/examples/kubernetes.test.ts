// The additions of examples/kubernetes to a pod, as kubectl applies them. manifests.test.ts checks the rules
// for all manifests.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { isThere } from '../../examples/stage.mjs'
import { MAIN, Run } from '../cli/command.ts'
import { scratch } from '../support/scratch.ts'
import {
  type Container,
  describeEach,
  exampleText,
  GIVEN,
  manifestsIn,
  mirrorIn,
  podIn,
  RENDERED,
} from './manifests.ts'

const SIDECARS = ['kubernetes/envoy', 'kubernetes/traefik', 'kubernetes/mirror-patch.yaml']
const IN_PLACE = 'kubernetes/in-place-patch.yaml'
const RUN = 'kubernetes/run-patch.yaml'

test('there are these, and their page names each', () => {
  expect(RENDERED).toEqual(expect.arrayContaining([...SIDECARS, IN_PLACE, RUN]))
  const folder = join(import.meta.dirname, '../../examples/kubernetes')
  for (const name of readdirSync(folder).filter((each) => each !== 'README.md'))
    expect(exampleText('kubernetes/README.md')).toContain(`[${name}](${name}`)
})

test('no pod is of a runtime class that a cluster may not have', () => {
  const names = readdirSync(join(import.meta.dirname, '../../examples'), {
    recursive: true,
    encoding: 'utf8',
  })
  for (const name of names.filter((each) => each.endsWith('.yaml') && !each.includes('node_modules')))
    expect(exampleText(name)).not.toMatch(/^ *runtimeClassName/m)
})

describeEach([...SIDECARS, IN_PLACE], (file) => {
  test('the probe asks where the mirror listens', () => {
    const { container, line } = mirrorIn(file)
    const { port } = container.startupProbe?.httpGet ?? {}
    const named = container.ports?.find(({ name }) => name === port)
    expect(line.listen).toEqual({ host: undefined, port: named?.containerPort })
    expect(container.startupProbe?.httpGet.path).toBe('/readyz')
  })

  test('what is mirrored is a ConfigMap', () => {
    const { container, line, volumes } = mirrorIn(file)
    for (const source of line.sources) {
      const mount = container.volumeMounts?.find(({ mountPath }) => mountPath === source)
      expect(volumes.find(({ name }) => name === mount?.name)?.configMap).toBeDefined()
    }
  })
})

describeEach(SIDECARS, (file) => {
  test('the sidecar writes to a tmpfs, which a workload has read-only', () => {
    const { container, line, volumes } = mirrorIn(file)
    const target = container.volumeMounts?.find(({ mountPath }) => mountPath === line.target)
    expect(volumes.find(({ name }) => name === target?.name)?.emptyDir).toMatchObject({ medium: 'Memory' })
    const readers = podIn(file)
      .containers.filter(({ name }) => name !== container.name)
      .flatMap(({ volumeMounts = [] }) => volumeMounts.filter(({ name }) => name === target?.name))
    expect(readers.length).toBeGreaterThan(0)
    for (const { readOnly } of readers) expect(readOnly).toBe(true)
  })

  test('the sidecar is a native one', () => {
    expect(mirrorIn(file).container.restartPolicy).toBe('Always')
  })
})

/** Sorts the lists of a container that kubectl merges in an order of its own. */
const ordered = ({ volumeMounts = [], ...container }: Container) => ({
  ...container,
  volumeMounts: volumeMounts.toSorted((a, b) => a.mountPath.localeCompare(b.mountPath)),
})

describeEach(['kubernetes/mirror-patch.yaml'], (file) => {
  test('the patch and the component make the same pod', () => {
    const [patched, composed] = [podIn(file), podIn('kubernetes/envoy')]
    expect(patched.containers.map(ordered)).toEqual(composed.containers.map(ordered))
    expect(new Set(patched.volumes)).toEqual(new Set(composed.volumes))
  })

  test('a program gets another volume at the same path, and nothing else of it changes', () => {
    const { containers } = podIn(file)
    const program = containers.find(({ name }) => name === 'envoy') as Container
    const [given] = podIn(GIVEN).containers as [Container]
    const back = program.volumeMounts?.map((mount) =>
      mount.name === 'mirrored' ? { ...mount, name: 'xds' } : mount,
    )
    expect(ordered({ ...program, volumeMounts: back ?? [] })).toEqual(ordered(given))
  })

  test('it is short', () => {
    const lines = exampleText(file)
      .split('\n')
      .filter((line) => /^[^#]/.test(line))
    expect(lines.length).toBeLessThanOrEqual(27)
  })
})

describeEach([IN_PLACE], (file) => {
  test('--in-place covers a mount of the container, and runs a command behind it', () => {
    const { line } = mirrorIn(file)
    expect(line.command?.[0]).toBe('envoy')
    expect(line.options.overLimit).toBe('hold')
  })
})

describeEach([RUN], (file) => {
  test('the program begins with the file that the init container copies, and nothing else of it changes', () => {
    const { containers, volumes } = podIn(file)
    const [copier, program] = containers as [Container, Container]
    const [given] = podIn(GIVEN).containers as [Container]
    const [, from, to] = /^fs\.copyFileSync\('(.*)', '(.*)'\)$/.exec(copier.command?.[2] ?? '') ?? []
    // image.test.ts checks that the file is there.
    expect(from).toBe('/opt/inotify-bridge/build/Release/inotify_bridge_run')
    expect(program.command).toEqual([to, '--'])
    expect(program.args).toEqual(['envoy', ...(given.args ?? [])])
    const [mount] = copier.volumeMounts ?? []
    expect(to?.startsWith(`${mount?.mountPath}/`)).toBe(true)
    const { command: _, ...rest } = program
    const volumeMounts = program.volumeMounts?.filter(({ name }) => name !== mount?.name) ?? []
    expect(volumeMounts.length).toBe((program.volumeMounts?.length ?? 0) - 1)
    expect(ordered({ ...rest, args: given.args ?? [], volumeMounts })).toEqual(ordered(given))
    expect(volumes.find(({ name }) => name === mount?.name)?.emptyDir).toBeDefined()
  })
})

const monitoring = exampleText('kubernetes/monitoring.yaml')

test.skipIf(!existsSync(MAIN))('the alerts are of metrics that there are (needs dist)', async () => {
  const here = scratch('/dev/shm')
  const lines = [
    ['mirror', here, `${here}-target`],
    ['reload', here, '--', 'true'],
  ] as const
  onTestFinished(() => rmSync(`${here}-target`, { recursive: true, force: true }))
  const exported = await Promise.all(
    lines.map(async ([command, ...args]) => {
      const run = new Run([command, '--listen', '127.0.0.1:0', ...args])
      await run.until('stdout', /listening on \S+\n/)
      const [, url = ''] = /listening on (\S+)/.exec(run.stdout) ?? []
      return (await fetch(`${url}/metrics`)).text()
    }),
  )
  for (const [name] of monitoring.matchAll(/inotify_bridge_\w+/g))
    expect(exported.join('')).toContain(`# TYPE ${name} gauge`)
})

test.skipIf(!isThere('promtool'))('Prometheus raises each alert, and no other (needs promtool)', () => {
  const here = scratch()
  const rule = manifestsIn('kubernetes/monitoring.yaml').find(({ kind }) => kind === 'PrometheusRule')
  writeFileSync(join(here, 'rules.yaml'), stringify(rule?.spec))
  const alerts = [
    ...monitoring.matchAll(/alert: (\w+)\s+expr: (\w+) (==|>) 0\s+for: (\w+)[\s\S]*?summary: (.*)/g),
  ]
  expect(alerts.length).toBe(3)
  const labels = { severity: 'warning', pod: 'web-1' }
  const shown = (summary: string, value: number) =>
    summary.replace('{{ $labels.pod }}', labels.pod).replace('{{ $value }}', String(value))
  const tests = alerts.flatMap(([, alertname, metric, operator, eval_time, summary = '']) =>
    [0, 2].map((value) => ({
      interval: '1m',
      input_series: [{ series: `${metric}{pod="web-1"}`, values: `${value}x20` }],
      alert_rule_test: [
        {
          eval_time,
          alertname,
          exp_alerts:
            value > 0 === (operator === '>')
              ? [{ exp_labels: labels, exp_annotations: { summary: shown(summary, value) } }]
              : [],
        },
      ],
    })),
  )
  writeFileSync(join(here, 'tests.yaml'), stringify({ rule_files: ['rules.yaml'], tests }))
  const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', join(here, 'tests.yaml')], {
    encoding: 'utf8',
  })
  expect(status, stdout + stderr).toBe(0)
})
