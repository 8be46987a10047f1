import { spawnSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { diagnose } from '../../dist/index.js'
import { atomicWrite } from '../kubelet.mjs'
import { MOUNTS, onStage, say } from '../stage.mjs'

await onStage({ namespace: MOUNTS }, async ({ directory }) => {
  // As on a node, where the kubelet has its volumes: diagnose() tells by the path what was mounted.
  const volume = join(directory, 'kubelet/pods/7/volumes/kubernetes.io~configmap/app')
  const [single, whole] = [join(directory, 'single/app.yaml'), join(directory, 'whole')]
  for (const path of [volume, join(directory, 'single'), whole]) await mkdir(path, { recursive: true })
  await writeFile(single, '')
  await atomicWrite(volume, { 'app.yaml': 'color: red\n' })
  // The kubelet resolves the key once, and mounts the file that it leads to at that time.
  bind(join(volume, 'app.yaml'), single)
  bind(volume, whole)

  await tell('the key, mounted with subPath', single)
  await atomicWrite(volume, { 'app.yaml': 'color: blue\n' })
  say('\nthe ConfigMap is updated:')
  const advice = await tell('the key, mounted with subPath', single)
  await tell('the directory, mounted whole', join(whole, 'app.yaml'))
  say('\nwhat to do:')
  for (const each of advice) say(`  ${each.replaceAll(directory, '')}`)
})

/** @param {string} from @param {string} to */
function bind(from, to) {
  const { status, stderr } = spawnSync('mount', ['--bind', from, to])
  if (status !== 0) throw new Error(`mount --bind: ${stderr}`)
}

/** @param {string} name @param {string} path */
async function tell(name, path) {
  const { pinned, advice } = await diagnose(path)
  say(`${name}: ${(await readFile(path, 'utf8')).trim()}; diagnose: pinned ${pinned}`)
  return advice
}
