// Runs each example as its page says, and compares the output with the expected one. An example prints itself
// what it lacks here.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MAIN, Program } from '../cli/command.ts'
import { PATIENCE, processesWith } from '../reload/fixture.ts'
import { scratch } from '../support/scratch.ts'
import { exampleText } from './manifests.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')

/** The output of each example: all of `lines`, in this order, and nothing of `never`. */
const SHOWN: Record<string, { lines: RegExp[]; never?: RegExp }> = {
  'envoy-exdev': {
    lines: [
      /^mv staging.*: no IN_MOVED_TO/,
      /^A file moved from staging to watched will be EXDEV/,
      /^moveFile.*: IN_MOVED_TO, Envoy reads it$/,
      /^inotify-bridge publish.*: IN_MOVED_TO, Envoy reads it$/,
    ],
  },
  'kata-configmap': {
    lines: [
      /fuse\.\S+; changes made here delivered, elsewhere silent; use inotify\+poll$/,
      /watcher of the mount sees: nothing$/,
      /watcher of the mirror sees: .*IN_MOVED_TO \.\.data$/,
      /reads there: color: blue$/,
    ],
    never: /Warning/,
  },
  'subpath-drift': {
    lines: [
      /subPath: color: red; diagnose: pinned static$/,
      /^the ConfigMap is updated/,
      /subPath: color: red; diagnose: pinned stale$/,
      /whole: color: blue; diagnose: pinned no$/,
      /^what to do:$/,
      /Restart the container/,
      /replace .*subPath: app\.yaml } by/,
    ],
  },
  'nginx-reload': {
    lines: [
      /^10 swaps .*: 10 reloads, 10 HUPs$/,
      /^an invalid one: validate failed.*tried again$/,
      /\[emerg\].*unknown directive "no_such_directive"/,
      /served meanwhile: page 10; nginx has not heard of it: true$/,
      /^a good one again: page 11$/,
      /^requests: many, failed: 0$/,
    ],
  },
  'prometheus-reload': {
    lines: [
      /^new configuration loaded: prometheus_config_last_reload_successful = 1$/,
      /has loaded says version 2$/,
      /^an invalid one: action failed: .*500, tried again$/,
      /successful 0$/,
      /^put back to what it was: successful 1$/,
    ],
  },
  rollout: {
    lines: [
      /^PATCH \/apis\/apps\/v1\/namespaces\/shop\/deployments\/web\?/,
      /"annotations":\{"inotify-bridge\/digest":"[0-9a-f]{64}"\}/,
      /^the same content again: 1 request in all$/,
    ],
  },
}

/** manifests.test.ts and dev_servers.test.ts test these; the last is npm's. */
const OTHERS = new Set(['kubernetes', 'dev-servers', 'node_modules'])

const folders = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !OTHERS.has(entry.name))
  .map(({ name }) => name)

test('there are these, each with its manifest and a page of at most 25 lines that says how to run it', () => {
  expect(folders.sort()).toEqual(Object.keys(SHOWN).sort())
  for (const name of folders) {
    const page = exampleText(`${name}/README.md`)
    expect(page.split('\n').length, name).toBeLessThanOrEqual(26)
    expect(page).toContain(`node examples/${name}/show.mjs`)
    // The patch of kata-configmap is a link, which npm does not pack: the page names the target of the link.
    expect(page).toMatch(/\((manifest|\.\.\/kubernetes\/mirror-patch)\.yaml\)/)
    expect(existsSync(join(EXAMPLES, name, 'manifest.yaml'))).toBe(true)
  }
})

/** Runs an example, with a directory for the directories that the example makes. */
function show(name: string, environment: NodeJS.ProcessEnv = {}) {
  const here = scratch()
  const run = new Program(process.execPath, [join(EXAMPLES, name, 'show.mjs')], {
    environment: { TMPDIR: here, ...environment },
  })
  return { run, here, leftovers: () => readdirSync(here) }
}

describe.skipIf(!existsSync(MAIN))('run (needs dist)', () => {
  test.for(Object.entries(SHOWN))('%s', async ([name, { lines, never }], { skip }) => {
    const { run, leftovers } = show(name)
    const { code, stdout, stderr } = await run.ended()
    expect(code, stdout + stderr).toBe(0)
    expect(leftovers()).toEqual([])
    if (stdout.startsWith('skipped: ')) skip(stdout.trim())
    expect(stderr).toBe('')
    const rest = stdout.split('\n')
    for (const line of lines) {
      const at = rest.findIndex((each) => line.test(each))
      expect(at, `${line} in:\n${stdout}`).toBeGreaterThanOrEqual(0)
      rest.splice(0, at + 1)
    }
    if (never !== undefined) expect(stdout).not.toMatch(never)
  })

  test('one that is ended in its midst takes with it what it has made and started', async ({ skip }) => {
    const { run, here, leftovers } = show('rollout')
    // `reload` is under way for a directory in there.
    const isUnderWay = () => processesWith(here).length > 0
    await expect.poll(() => isUnderWay() || /^skipped/.test(run.stdout), PATIENCE).toBe(true)
    if (!isUnderWay()) skip(run.stdout.trim())
    run.kill('SIGTERM')
    expect((await run.ended()).code).toBe(130)
    expect(leftovers()).toEqual([])
    await expect.poll(isUnderWay, PATIENCE).toBe(false)
  })
})

test('what cannot be shown is said in one line, and is no failure', async () => {
  const { run } = show('rollout', { PATH: '' })
  expect(await run.ended()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^skipped: .*\n$/),
    stderr: '',
  })
})
