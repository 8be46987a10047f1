// The manifests of all examples: their command lines are read by the command's own parsers, and what the lines name is there.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readMirrorArguments } from '../../src/cli/mirror/mirror_options.ts'
import { readPublishArguments } from '../../src/cli/publish/publish_options.ts'
import { readReloadArguments } from '../../src/cli/reload/reload_options.ts'
import { Run } from '../cli/command.ts'
import { scratch } from '../support/scratch.ts'
import {
  describeEach,
  exampleText,
  FILES,
  isReadable,
  linesOf,
  MANIFESTS,
  manifestsIn,
  podIn,
} from './manifests.ts'

const PARSERS: Record<string, (args: string[]) => unknown> = {
  mirror: readMirrorArguments,
  publish: readPublishArguments,
  reload: readReloadArguments,
}

/** The one container that reloads another, and what its line says. */
function reloadIn(file: string): {
  container: ReturnType<typeof podIn>['containers'][number]
  line: ReturnType<typeof readReloadArguments>
} {
  const [found, ...others] = podIn(file).containers.flatMap((container) =>
    linesOf(container)
      .filter(([command]) => command === 'reload')
      .map(([, ...args]) => ({ container, line: readReloadArguments(args) })),
  )
  if (found === undefined || others.length > 0) expect.fail(`${file} has not one reload`)
  return found
}

describeEach(MANIFESTS, (file) => {
  test('each of its command lines is right usage', async () => {
    const lines = podIn(file).containers.flatMap(linesOf)
    expect(lines.length).toBeGreaterThan(0)
    for (const [command = '', ...args] of lines) {
      const parse = PARSERS[command]
      if (parse !== undefined) {
        expect(() => parse(args)).not.toThrow()
        continue
      }
      // The command says that its directory is missing: wrong usage would be exit code 2.
      const here = scratch()
      const run = new Run([command, ...args.map((word) => (word.startsWith('/') ? join(here, word) : word))])
      // `run` says that its program is missing.
      const code = command === 'run' ? 127 : 1
      expect(await run.ended()).toMatchObject({ code, stderr: expect.stringContaining('ENOENT') })
    }
  })

  test('every volume that is mounted is declared, and every ConfigMap is in one of the files', () => {
    const { containers, volumes } = podIn(file)
    const declared = volumes.map(({ name }) => name)
    for (const { volumeMounts = [] } of containers)
      for (const { name } of volumeMounts) expect(declared).toContain(name)
    const configMaps = FILES.flatMap(manifestsIn).filter(({ kind }) => kind === 'ConfigMap')
    for (const { configMap } of volumes)
      if (configMap !== undefined)
        expect(configMaps.map(({ metadata }) => metadata.name)).toContain(configMap.name)
  })

  test('its containers have no rights, and bounds', () => {
    for (const { name, resources, securityContext } of podIn(file).containers) {
      expect(resources, name).toEqual({ requests: expect.anything(), limits: expect.anything() })
      expect(securityContext, name).toMatchObject({
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
        // Mounting needs root and a capability: --in-place.
        ...(file === 'kubernetes/in-place-patch.yaml'
          ? {}
          : { runAsNonRoot: true, allowPrivilegeEscalation: false }),
      })
    }
  })
})

const RELOADING = ['nginx-reload', 'prometheus-reload', 'rollout'].map((name) => `${name}/manifest.yaml`)

describe.each(RELOADING)('%s', (file) => {
  test('reloads upon what a ConfigMap shows, whole', () => {
    const { container, line } = reloadIn(file)
    for (const path of line.config.paths) {
      const mount = container.volumeMounts?.find(({ mountPath }) => mountPath === path)
      expect(mount).toBeDefined()
      expect(mount?.subPath).toBeUndefined()
      expect(podIn(file).volumes.find(({ name }) => name === mount?.name)?.configMap).toBeDefined()
    }
  })

  test('is asked for its health where it listens', () => {
    const { container, line } = reloadIn(file)
    const { path, port } = container.livenessProbe?.httpGet ?? {}
    const named = container.ports?.find(({ name }) => name === port)
    expect(path).toBe('/healthz')
    expect(line.listen).toEqual({ host: undefined, port: named?.containerPort })
  })

  test('its page shows its command line', () => {
    const { line } = reloadIn(file)
    const shown = /^args: \[reload, (.*?)\]/m.exec(
      exampleText(file.replace('manifest.yaml', 'README.md')),
    )?.[1]
    const words = shown?.split(', ').map((word) => word.replaceAll('"', '')) ?? []
    expect(readReloadArguments(words).config).toEqual(line.config)
  })
})

test('the signal reaches nginx: one pid namespace, one user, and its pid file', () => {
  const { shareProcessNamespace, containers } = podIn('nginx-reload/manifest.yaml')
  expect(shareProcessNamespace).toBe(true)
  const [nginx, reload] = containers
  expect(reload?.securityContext).toEqual(nginx?.securityContext)
  expect(reload?.volumeMounts).toEqual(nginx?.volumeMounts)
})

test('the rollout may patch its workload, by the account that it runs as, and nothing else', () => {
  const file = 'rollout/manifest.yaml'
  const { action } = reloadIn(file).line.config
  const roles = manifestsIn(file).flatMap(({ kind, metadata, rules = [] }) =>
    kind === 'Role' ? rules.map((rule) => ({ ...rule, namespace: metadata.namespace })) : [],
  )
  expect(action).toEqual({ rollout: { kind: 'Deployment', namespace: 'shop', name: 'web' } })
  expect(roles).toEqual([
    {
      apiGroups: ['apps'],
      resources: ['deployments'],
      resourceNames: ['web'],
      verbs: ['patch'],
      namespace: 'shop',
    },
  ])
  const accounts = manifestsIn(file).filter(({ kind }) => kind === 'ServiceAccount')
  expect(podIn(file).serviceAccountName).toBe(accounts[0]?.metadata.name)
})

test('subPath is in subpath-drift alone, as what it warns of', () => {
  const mounts = MANIFESTS.filter(isReadable).flatMap((file) =>
    podIn(file).containers.flatMap(({ volumeMounts = [] }) =>
      volumeMounts.filter(({ subPath }) => subPath !== undefined).map(() => file),
    ),
  )
  expect(mounts).toEqual(['subpath-drift/manifest.yaml'])
})
