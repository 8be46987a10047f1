import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { type MirrorArguments, readMirrorArguments } from '../../src/cli/mirror/mirror_options.ts'

interface Probe {
  httpGet: { path: string; port: string }
}

export interface Container {
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

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string }
  data?: Record<string, string>
  spec?: { template: { spec: Pod } }
  rules?: Array<{ resources: string[]; resourceNames: string[]; verbs: string[] }>
}

const EXAMPLES = join(import.meta.dirname, '../../examples')

const files = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml') && !file.includes('node_modules'))
  .sort()
const isComponent = (file: string) => dirname(file) === 'kubernetes/mirror'
const isWhole = (file: string) => !isComponent(file) && /^kind:/m.test(exampleText(file))

/** The files that are applied as they are, of every example: 'rollout/manifest.yaml'. */
export const FILES = files.filter(isWhole)

/** A kustomization by its directory, and a patch of Envoy's pod by its file: kubectl renders them. */
export const RENDERED = files
  .filter((file) => !isWhole(file) && !isComponent(file))
  .map((file) => (basename(file) === 'kustomization.yaml' ? dirname(file) : file))

/** Those with a pod that has a command line of inotify-bridge. */
export const MANIFESTS = [...FILES.filter((file) => /inotify-bridge:/.test(exampleText(file))), ...RENDERED]

/** kubectl before 1.21 has neither components nor --patch-file. */
function mayRender(): boolean {
  const { stdout } = spawnSync('kubectl', ['version', '--client', '-o', 'json'], { encoding: 'utf8' })
  const [, minor = '0'] = /"gitVersion": "v1\.(\d+)/.exec(stdout ?? '') ?? []
  return Number(minor) >= 21
}
const hasKubectl = mayRender()

export const isReadable = (file: string) => hasKubectl || !RENDERED.includes(file)

/** Tests of each manifest, which are skipped by name where it cannot be rendered. */
export function describeEach(names: readonly string[], tests: (file: string) => void): void {
  for (const file of names)
    describe.skipIf(!isReadable(file))(`${file}${isReadable(file) ? '' : ' (needs kubectl 1.21)'}`, () =>
      tests(file),
    )
}

export function exampleText(file: string): string {
  return readFileSync(join(EXAMPLES, file), 'utf8')
}

export function manifestsIn(file: string): Manifest[] {
  const documents = parseAllDocuments(RENDERED.includes(file) ? rendered(file) : exampleText(file), {
    merge: true,
  })
  return documents.map((document) => {
    expect(document.errors, file).toEqual([])
    return document.toJS()
  })
}

/** The pod that the patches are of, as one has it. */
export const GIVEN = 'kubernetes/envoy/deployment.yaml'

function rendered(file: string): string {
  const path = join(EXAMPLES, file)
  if (existsSync(join(path, 'kustomization.yaml')))
    return execFileSync('kubectl', ['kustomize', path], { encoding: 'utf8' })
  const input = JSON.stringify(manifestsIn(GIVEN).find(({ kind }) => kind === 'Deployment'))
  const args = ['patch', '--local', '-f', '-', '--patch-file', path, '-o', 'yaml']
  return execFileSync('kubectl', args, { input, encoding: 'utf8' })
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
  if (entry[0]?.endsWith('/inotify_bridge_run')) return [['run', ...entry.slice(1), ...args]]
  // A shell's script. The words that matter here have no quotes, and end at the shell's next operator.
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
