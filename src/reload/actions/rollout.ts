import { printable } from '../../errors.ts'
import { ActionError, OUTPUT_BYTES } from '../failure.ts'
import type { Action, ActionContext } from './action.ts'
import { causeOf } from './http.ts'

/** The used part of @kubernetes/client-node, versions 1 and 2: its own types are 50 MB of an optional dependency. */
interface KubernetesClient {
  KubeConfig: new () => {
    loadFromCluster(pathPrefix?: string): void
    makeApiClient(type: unknown): Record<string, (workload: object, options: object) => Promise<unknown>>
  }
  AppsV1Api: unknown
  PatchStrategy: { StrategicMergePatch: string }
  setHeaderOptions(name: string, value: string): { middleware: Middleware[]; middlewareMergeStrategy: string }
}

interface Middleware {
  pre(request: { setSignal(signal: AbortSignal): void }): unknown
  post(response: unknown): unknown
}

export interface Workload {
  kind: 'Deployment' | 'StatefulSet' | 'DaemonSet'
  namespace: string
  name: string
}

/** The annotation that tells for which content a workload's pods were made. */
export const DIGEST_ANNOTATION = 'inotify-bridge/digest'

export interface RolloutSystem {
  load(): Promise<unknown>
  /** The prefix of the paths of the service account's files: ''. */
  readonly root: string
}

/** Not a literal: its types are not wanted, and a bundler must not look for an optional package. */
const CLIENT: string = '@kubernetes/client-node'

const cluster: RolloutSystem = { load: () => import(CLIENT), root: '' }

/** Writes the digest into the pod template of a workload, which then replaces its pods by its own strategy. The same digest again changes nothing. */
export function rollOut(workload: Workload, system: RolloutSystem = cluster): Action {
  return async (context) => {
    const client = await load(system)
    try {
      await patch(client, workload, context, system)
    } catch (error) {
      throw describe(error, workload, context)
    }
  }
}

async function patch(
  client: KubernetesClient,
  { kind, namespace, name }: Workload,
  context: ActionContext,
  { root }: RolloutSystem,
): Promise<void> {
  if (!process.env.KUBERNETES_SERVICE_HOST) {
    throw new ActionError(
      'there is no KUBERNETES_SERVICE_HOST: a rollout is done from a pod, by its service account',
    )
  }
  // Read anew each time: the token changes within the hour.
  const config = new client.KubeConfig()
  config.loadFromCluster(root)
  const api = config.makeApiClient(client.AppsV1Api)
  const annotations = { [DIGEST_ANNOTATION]: context.digest }
  const body = { spec: { template: { metadata: { annotations } } } }
  const options = client.setHeaderOptions('Content-Type', client.PatchStrategy.StrategicMergePatch)
  const bounded = options.middleware.map(({ pre, post }) => ({
    pre(request: Parameters<Middleware['pre']>[0]) {
      request.setSignal(context.limit.signal)
      return pre(request)
    },
    post,
  }))
  const request = { name, namespace, body, fieldManager: 'inotify-bridge' }
  await api[`patchNamespaced${kind}`]?.(request, { ...options, middleware: bounded })
}

async function load({ load }: RolloutSystem): Promise<KubernetesClient> {
  try {
    return (await load()) as KubernetesClient
  } catch (error) {
    // Version 2 needs Node 22.19.
    throw new ActionError(
      `a rollout needs ${CLIENT}, which could not be loaded: npm install ${CLIENT}@1 (${error instanceof Error ? error.message.split('\n')[0] : String(error)})`,
    )
  }
}

const HINTS: ReadonlyMap<number, string> = new Map([
  [
    401,
    "the service account's token is not accepted: is it mounted (automountServiceAccountToken), and of this cluster?",
  ],
  [
    403,
    "the service account may not: a Role needs the verb 'patch' in apiGroups 'apps' for it, and a RoleBinding",
  ],
  [404, 'there is none of this name in this namespace'],
])

function describe(error: unknown, { kind, namespace, name }: Workload, { limit }: ActionContext): Error {
  if (error instanceof ActionError) return error
  const what = `the rollout of ${kind} ${namespace}/${name}`
  const { code, body } = Object(error) as { code?: unknown; body?: unknown }
  if (typeof code === 'number') {
    const hint = HINTS.get(code)
    const output = typeof body === 'string' ? body : (JSON.stringify(body) ?? '')
    return new ActionError(
      `${what} was answered with ${code}${hint === undefined ? '' : `: ${hint}`}`,
      output.slice(0, OUTPUT_BYTES),
    )
  }
  if (limit.expired) return new ActionError(`${what} timed out after ${limit.ms} ms`)
  return new ActionError(`${what} failed: ${printable(causeOf(error))}`)
}
