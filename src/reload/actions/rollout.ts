import { readFile } from 'node:fs/promises'
import type { Form } from '../options.ts'
import type { ActionContext } from './action.ts'
import { succeed } from './http.ts'

/** The annotation that tells for which content a workload's pods were made. */
const DIGEST_ANNOTATION = 'inotify-bridge/digest'

const HINTS: Readonly<Record<number, string>> = {
  401: "the service account's token is not accepted: is it mounted (automountServiceAccountToken), and of this cluster?",
  403: "the service account may not: a Role needs the verb 'patch' in apiGroups 'apps' for it, and a RoleBinding",
  404: 'there is none of this name in this namespace',
}

/**
 * Writes the digest into the pod template of a workload, which then replaces its pods by its own strategy. The same digest again changes nothing.
 *
 * @param root the prefix of the paths of the service account's files
 */
export async function rollOut(
  { kind, namespace, name }: Form<'rollout'>['rollout'],
  { digest, signal }: Pick<ActionContext, 'digest' | 'signal'>,
  root = '',
): Promise<void> {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = process.env
  const hint = 'there is no KUBERNETES_SERVICE_HOST: a rollout is done from a pod, by its service account'
  if (host === '') throw new Error(hint)
  const account = `${root}/var/run/secrets/kubernetes.io/serviceaccount`
  // Read anew each time: the token changes within the hour.
  const files = ['token', 'ca.crt'].map((file) => readFile(`${account}/${file}`, 'utf8'))
  const [token = '', ca] = await Promise.all(files).catch(({ message }: Error) => {
    const hint = 'a rollout needs the files of the service account: automountServiceAccountToken'
    throw new Error(`${message} (${hint})`)
  })
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  const workloads = `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s`
  const url = new URL(`${server}${workloads}/${name}?fieldManager=inotify-bridge`)
  const headers = {
    authorization: `Bearer ${token.trim()}`,
    'content-type': 'application/strategic-merge-patch+json',
  }
  const annotations = { [DIGEST_ANNOTATION]: digest }
  const body = JSON.stringify({ spec: { template: { metadata: { annotations } } } })
  const request = { method: 'PATCH', headers, ca, body, signal }
  await succeed(`the rollout of ${kind} ${namespace}/${name}`, url, request, ({ statusCode = 0 }) =>
    statusCode in HINTS ? `: ${HINTS[statusCode]}` : '',
  )
}
