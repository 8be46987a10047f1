// Every manifest is what the API server takes: of the schema that its kind has, and without a field that the schema does not know.
import { expect, test } from 'vitest'
import { describeEach, FILES, manifestsIn, RENDERED } from './manifests.ts'
import { faultsOf } from './schema.ts'

describeEach([...FILES, ...RENDERED], (file) => {
  test('is valid', async () => {
    const manifests = manifestsIn(file)
    expect(manifests.length).toBeGreaterThan(0)
    for (const manifest of manifests)
      expect(await faultsOf(manifest), `${manifest.kind} ${manifest.metadata.name}`).toEqual([])
  })
})

const container = { name: 'web', image: 'web' }
const pod = (more: object, of: object = container) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: { containers: [{ ...of, ...more }] },
})

test.each([
  ['nothing', pod({}), []],
  ['a misspelt field', pod({ startuProbe: {} }), ['/spec/containers/0/startuProbe']],
  ['a missing name', pod({}, { image: 'web' }), [expect.stringContaining('required property name')]],
  ['a number for a text', pod({ args: [1] }), [expect.stringContaining('args/0 must be string')]],
])('of %s the fault is found', async (_, manifest, faults) => {
  expect(await faultsOf(manifest)).toEqual(faults)
})
