import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { moveFile } from '../../dist/index.js'
import { MOUNTS, onStage, say, until } from '../stage.mjs'
import { EnvoyRule } from './envoy_rule.mjs'

await onStage({ namespace: MOUNTS }, async ({ directory, command }) => {
  const [staging, watched] = [join(directory, 'staging'), join(directory, 'watched')]
  for (const path of [staging, watched]) await mkdir(path)
  execFileSync('mount', ['-t', 'tmpfs', 'none', staging])
  const [from, to] = [join(staging, 'lds.yaml'), join(watched, 'lds.yaml')]
  const envoy = new EnvoyRule(watched, 'lds.yaml')
  let version = 0

  /** @param {string} name @param {() => unknown} publish */
  async function show(name, publish) {
    const before = envoy.reloads.length
    await writeFile(from, `version: ${++version}\n`)
    await publish()
    // What was told before the mark is all that there is.
    await writeFile(join(watched, `mark ${version}`), 'x')
    await until('the mark is heard of', () => envoy.heard.has(`mark ${version}`))
    const times = envoy.reloads.length - before
    say(
      `${name}: ${times === 0 ? 'no IN_MOVED_TO, Envoy goes on with the old' : 'IN_MOVED_TO, Envoy reads it'}`,
    )
  }

  await show('mv staging/lds.yaml watched/', () => execFileSync('mv', [from, to]))
  const diagnosed = (await command('diagnose', staging, watched)).replaceAll(`${directory}/`, '')
  say(`\ninotify-bridge diagnose staging watched:\n${diagnosed.slice(diagnosed.indexOf('A file moved'))}`)
  await show('moveFile(staging/lds.yaml, watched/lds.yaml)', () => moveFile(from, to))
  await show('inotify-bridge publish staging/lds.yaml watched/', () => command('publish', from, watched))
  envoy.close()
})
