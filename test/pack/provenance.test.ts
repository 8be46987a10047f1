import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { scratch } from '../support/scratch.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Workflow {
  permissions: Record<string, string>
  jobs: Record<string, { permissions: Record<string, string>; steps: Array<{ uses?: string; run?: string }> }>
}

const text = readFileSync(join(ROOT, '.github/workflows/publish.yml'), 'utf8')
const { permissions, jobs }: Workflow = parse(text)
const steps = Object.values(jobs).flatMap((job) => job.steps)

test('who publishes has the right to say who he is, and none to write; there is no secret', () => {
  expect(permissions).toEqual({})
  for (const job of Object.values(jobs))
    expect(job.permissions).toEqual({ contents: 'read', 'id-token': 'write' })
  expect(text).not.toMatch(/secrets\.|TOKEN/)
})

test('what others have written is named by its commit', () => {
  const used = steps.flatMap(({ uses }) => uses ?? [])
  expect(used.length).toBeGreaterThan(1)
  for (const each of used) expect(each).toMatch(/^actions\/[a-z-]+@[0-9a-f]{40}$/)
})

test('npm is told to publish with provenance, after the bill of materials', () => {
  const runs = steps.flatMap(({ run }) => run ?? [])
  expect(runs.slice(-4)).toEqual([
    'node scripts/addresses.mjs set "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY" "$GITHUB_REPOSITORY_OWNER"',
    'npm publish --provenance --access public',
    'npm publish --provenance --access public ./packages/chokidar',
    'npm publish --provenance --access public ./packages/parcel-watcher',
  ])
  expect(runs).toContain('npm run --silent sbom > sbom.cdx.json')
})

test('npm does not publish before the addresses are known, and does once the release has set them', () => {
  const copy = scratch()
  for (const each of ['package.json', 'scripts/addresses.mjs', 'packages'])
    cpSync(join(ROOT, each), join(copy, each), { recursive: true })
  const run = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/addresses.mjs', ...args], { cwd: copy, encoding: 'utf8' })
  const manifest = (directory: string) =>
    JSON.parse(readFileSync(join(copy, directory, 'package.json'), 'utf8'))
  expect(manifest('').scripts.prepublishOnly).toBe('node scripts/addresses.mjs check')
  const refused = run('check')
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain(`${join(copy, 'package.json')}: no author, repository, homepage, bugs`)
  expect(run('set', 'no address', 'owner').status).toBe(2)
  expect(run('set', 'https://host.example/owner/name', 'owner').status).toBe(0)
  expect(run('check')).toMatchObject({ status: 0, stderr: '' })
  expect(manifest('')).toMatchObject({
    name: 'inotify-bridge',
    repository: { url: 'git+https://host.example/owner/name.git' },
    bugs: 'https://host.example/owner/name/issues',
  })
  expect(manifest('packages/chokidar').repository.directory).toBe('packages/chokidar')
})

test('no expression of a release stands in a script, which would run what somebody names so', () => {
  for (const { run = '' } of steps) expect(run).not.toContain('${{')
})

test('the bill of materials: bindings, and what it brings', () => {
  const bill: { metadata: { component: { name: string } }; components: Array<{ purl: string }> } = JSON.parse(
    execFileSync(process.execPath, [join(ROOT, 'scripts/sbom.mjs')], { encoding: 'utf8' }),
  )
  expect(bill.metadata.component.name).toBe('inotify-bridge')
  expect(bill.components.map(({ purl }) => purl.replace(/@.*/, ''))).toEqual([
    'pkg:npm/bindings',
    'pkg:npm/file-uri-to-path',
  ])
})
