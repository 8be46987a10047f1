// The manifests in examples/kubernetes: their command lines are read by the command's own parser, and what the lines name is there.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { type MirrorArguments, readMirrorArguments } from '../../src/cli/mirror_options.ts'
import { Run } from '../cli/command.ts'
import { scratch } from '../support/scratch.ts'

const FOLDER = join(import.meta.dirname, '../../examples/kubernetes')

interface Container {
  name: string
  image: string
  command?: string[]
  args?: string[]
  restartPolicy?: string
  ports?: Array<{ name: string; containerPort: number }>
  startupProbe?: { httpGet: { path: string; port: string } }
  resources?: { requests?: object; limits?: object }
  securityContext?: {
    runAsNonRoot?: boolean
    readOnlyRootFilesystem?: boolean
    capabilities?: { drop?: string[] }
  }
  volumeMounts?: Array<{ name: string; mountPath: string; readOnly?: boolean }>
}

interface Volume {
  name: string
  configMap?: { name: string }
  emptyDir?: { medium?: string; sizeLimit?: string }
}

interface Manifest {
  kind: string
  metadata: { name: string }
  data?: Record<string, string>
  spec?: { template: { spec: { initContainers?: Container[]; containers: Container[]; volumes: Volume[] } } }
}

const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))

function manifestsIn(file: string): Manifest[] {
  const documents = parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8'), { merge: true })
  return documents.map((document) => {
    expect(document.errors, file).toEqual([])
    return document.toJS()
  })
}

function podIn(file: string) {
  const pods = manifestsIn(file).flatMap(({ spec }) => (spec === undefined ? [] : [spec.template.spec]))
  const [pod] = pods
  if (pod === undefined || pods.length !== 1) expect.fail(`${file} has ${pods.length} pods`)
  return { containers: [...(pod.initContainers ?? []), ...pod.containers], volumes: pod.volumes }
}

/** The words that follow `inotify-bridge` in each of a container's command lines. */
function linesOf({ image, command, args = [] }: Container): string[][] {
  const entry = command ?? (/\/inotify-bridge:/.test(image) ? ['inotify-bridge'] : [])
  if (entry[0] === 'inotify-bridge') return [[...entry.slice(1), ...args]]
  // A shell's script: without quotes in what is of interest here, up to the next of its operators.
  const scripts = [...(command ?? []), ...args].flatMap((word) => [
    ...word.matchAll(/inotify-bridge ([^|;&\n]+)/g),
  ])
  return scripts.map(([, words = '']) => words.trim().split(/\s+/))
}

/** A container and what its `mirror` line says. */
function mirrorIn(file: string): { container: Container; line: MirrorArguments; volumes: Volume[] } {
  const { containers, volumes } = podIn(file)
  const found = containers.flatMap((container) =>
    linesOf(container)
      .filter(([command]) => command === 'mirror')
      .map(([, ...args]) => ({ container, line: readMirrorArguments(args), volumes })),
  )
  const [only] = found
  if (only === undefined || found.length !== 1) expect.fail(`${file} has ${found.length} mirrors`)
  return only
}

test('there are these', () => {
  expect(files.sort()).toEqual(['envoy.yaml', 'in-place.yaml', 'nginx.yaml', 'traefik.yaml'])
  const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8')
  for (const file of files) expect(readme).toContain(`](${file})`)
})

describe.each(files)('%s', (file) => {
  test('each of its command lines is right usage', async () => {
    const lines = podIn(file).containers.flatMap(linesOf)
    expect(lines.length).toBeGreaterThan(0)
    for (const [command = '', ...args] of lines) {
      if (command === 'mirror') {
        expect(() => readMirrorArguments(args)).not.toThrow()
        continue
      }
      // In a directory of which it says that it is not there: wrong usage would be exit code 2.
      const here = scratch()
      const run = new Run([command, ...args.map((word) => (word.startsWith('/') ? join(here, word) : word))])
      expect(await run.ended()).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOENT') })
    }
  })

  test('every volume that is mounted is declared, and every ConfigMap is in one of the files', () => {
    const { containers, volumes } = podIn(file)
    const declared = volumes.map(({ name }) => name)
    for (const { volumeMounts = [] } of containers)
      for (const { name } of volumeMounts) expect(declared).toContain(name)
    const configMaps = files.flatMap(manifestsIn).filter(({ kind }) => kind === 'ConfigMap')
    for (const { configMap } of volumes)
      if (configMap !== undefined)
        expect(configMaps.map(({ metadata }) => metadata.name)).toContain(configMap.name)
  })

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

describe.each(files.filter((file) => file !== 'in-place.yaml'))('the sidecar of %s', (file) => {
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

  test('is a native one, without rights, with bounds', () => {
    const { container } = mirrorIn(file)
    expect(container).toMatchObject({
      restartPolicy: 'Always',
      securityContext: {
        runAsNonRoot: true,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
      resources: { requests: expect.anything(), limits: expect.anything() },
    })
  })
})

test('--in-place covers a mount of the container, and runs a command behind it', () => {
  const { line } = mirrorIn('in-place.yaml')
  expect(line.command?.[0]).toBe('envoy')
  expect(line.options.overLimit).toBe('hold')
})
