import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { type MirrorArguments, readMirrorArguments } from '../../src/cli/mirror/mirror_options.ts'

interface Probe {
  httpGet: { path: string; port: string }
}

interface Container {
  name: string
  image: string
  command?: string[]
  args?: string[]
  restartPolicy?: string
  ports?: Array<{ name: string; containerPort: number }>
  startupProbe?: Probe
  livenessProbe?: Probe
  resources?: { requests?: object; limits?: object }
  securityContext?: {
    runAsNonRoot?: boolean
    readOnlyRootFilesystem?: boolean
    allowPrivilegeEscalation?: boolean
    capabilities?: { drop?: string[] }
    seccompProfile?: { type: string }
  }
  volumeMounts?: Array<{ name: string; mountPath: string; readOnly?: boolean; subPath?: string }>
}

interface Volume {
  name: string
  configMap?: { name: string }
  emptyDir?: { medium?: string; sizeLimit?: string }
}

interface Pod {
  initContainers?: Container[]
  containers: Container[]
  volumes: Volume[]
  serviceAccountName?: string
  shareProcessNamespace?: boolean
}

interface Manifest {
  kind: string
  metadata: { name: string; namespace?: string }
  data?: Record<string, string>
  spec?: { template: { spec: Pod } }
  rules?: Array<{ resources: string[]; resourceNames: string[]; verbs: string[] }>
}

const EXAMPLES = join(import.meta.dirname, '../../examples')

/** Of every example: 'kubernetes/envoy.yaml'. */
export const MANIFESTS = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name }) => readdirSync(join(EXAMPLES, name)).map((file) => `${name}/${file}`))
  .filter((file) => file.endsWith('.yaml'))
  .sort()

export function exampleText(file: string): string {
  return readFileSync(join(EXAMPLES, file), 'utf8')
}

export function manifestsIn(file: string): Manifest[] {
  const documents = parseAllDocuments(exampleText(file), { merge: true })
  return documents.map((document) => {
    expect(document.errors, file).toEqual([])
    return document.toJS()
  })
}

export function podIn(file: string) {
  const pods = manifestsIn(file).flatMap(({ spec }) => (spec === undefined ? [] : [spec.template.spec]))
  const [pod] = pods
  if (pod === undefined || pods.length !== 1) expect.fail(`${file} has ${pods.length} pods`)
  return { ...pod, containers: [...(pod.initContainers ?? []), ...pod.containers] }
}

/** The words that follow `inotify-bridge` in each of a container's command lines. */
export function linesOf({ image, command, args = [] }: Container): string[][] {
  const entry = command ?? (/\/inotify-bridge:/.test(image) ? ['inotify-bridge'] : [])
  if (entry[0] === 'inotify-bridge') return [[...entry.slice(1), ...args]]
  // A shell's script: without quotes in what is of interest here, up to the next of its operators.
  const scripts = [...(command ?? []), ...args].flatMap((word) => [
    ...word.matchAll(/inotify-bridge ([^|;&\n]+)/g),
  ])
  return scripts.map(([, words = '']) => words.trim().split(/\s+/))
}

/** A container and what its `mirror` line says. */
export function mirrorIn(file: string): { container: Container; line: MirrorArguments; volumes: Volume[] } {
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
