import type { Manifest } from './manifests.ts'

/**
 * Records the paths of the values that are read. The validators read the fields that they know and pass over
 * the rest, as the API server does.
 */
function watched<T>(value: T, path: string, read: Set<string>): T {
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(object, key) {
      const found = Reflect.get(object, key)
      if (typeof key === 'symbol' || !Object.hasOwn(object, key)) return found
      read.add(`${path}/${key}`)
      return watched(found, `${path}/${key}`, read)
    },
  }) as T
}

function pathsOf(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, below]) => [
    `${path}/${key}`,
    ...pathsOf(below, `${path}/${key}`),
  ])
}

/** Returns the faults of a manifest: fields that do not fit the schema, and unknown fields. */
export async function faultsOf(manifest: Pick<Manifest, 'apiVersion' | 'kind'>): Promise<string[]> {
  const { apiVersion, kind } = manifest
  const models = apiVersion.startsWith('monitoring.coreos.com')
    ? '@kubernetes-models/prometheus-operator'
    : 'kubernetes-models'
  const { [kind]: Model } = await import(`${models}/${apiVersion}/${kind}`)
  const read = new Set<string>()
  try {
    // A direct call of validate() would validate a copy.
    Model.prototype.validate.call(watched(manifest, '', read))
  } catch (error) {
    return [String(error)]
  }
  return pathsOf(manifest, '').filter((path) => !read.has(path))
}
