// The manifests in examples/kubernetes, which have a mirror each but for one. manifests.test.ts has what is asked of all.
import { describe, expect, test } from 'vitest'
import { exampleText, MANIFESTS, mirrorIn, podIn } from './manifests.ts'

const all = MANIFESTS.filter((file) => file.startsWith('kubernetes/'))
const files = all.filter((file) => file !== 'kubernetes/diagnose.yaml')

test('there are these', () => {
  const names = all.map((file) => file.slice('kubernetes/'.length))
  expect(names).toEqual(['diagnose.yaml', 'envoy.yaml', 'in-place.yaml', 'nginx.yaml', 'traefik.yaml'])
  for (const name of names) expect(exampleText('kubernetes/README.md')).toContain(`](${name})`)
})

describe.each(files)('%s', (file) => {
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

describe.each(files.filter((file) => file !== 'kubernetes/in-place.yaml'))('the sidecar of %s', (file) => {
  test('writes to a tmpfs, which a workload has read-only', () => {
    const { container, line, volumes } = mirrorIn(file)
    const target = container.volumeMounts?.find(({ mountPath }) => mountPath === line.target)
    expect(volumes.find(({ name }) => name === target?.name)?.emptyDir).toMatchObject({ medium: 'Memory' })
    const readers = podIn(file)
      .containers.filter(({ name }) => name !== container.name)
      .flatMap(({ volumeMounts = [] }) => volumeMounts.filter(({ name }) => name === target?.name))
    expect(readers.length).toBeGreaterThan(0)
    for (const { readOnly } of readers) expect(readOnly).toBe(true)
  })

  test('is a native one', () => {
    expect(mirrorIn(file).container.restartPolicy).toBe('Always')
  })
})

test('--in-place covers a mount of the container, and runs a command behind it', () => {
  const { line } = mirrorIn('kubernetes/in-place.yaml')
  expect(line.command?.[0]).toBe('envoy')
  expect(line.options.overLimit).toBe('hold')
})
