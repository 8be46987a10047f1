// Beyond Kata: sources that go and come back, and outgrow their limits.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'

/** @typedef {import('./scene.mjs').Scene} Scene */

/**
 * Mirrors `from`, a directory with two files behind `source`, loses it and has it back.
 *
 * @param {Scene} scene
 * @param {string} from
 * @param {{ lose: () => unknown, reason: RegExp, restore: () => unknown }} how
 */
async function loseAndResume(scene, from, { lose, reason, restore }) {
  for (const key of ['a', 'b']) await scene.behind.write(`source/${key}`, 'one')
  const mirror = await scene.start({ from })
  const said = scene.said(mirror)
  const listener = scene.listen()
  await lose()
  for (let n = 0; n < 3; n++) await mirror.refresh()
  assert.equal(mirror.state, 'source-lost')
  assert.equal(said.states.length, 1)
  assert.match(JSON.stringify(said.states[0]), reason)
  assert.deepEqual(await listener.soFar(), [], 'nothing is deleted')
  assert.deepEqual([scene.read('a'), scene.read('b')], ['one', 'one'])
  await restore()
  await scene.behind.write('source/a', 'two')
  await mirror.refresh()
  assert.equal(mirror.state, 'mirroring')
  assert.deepEqual([scene.read('a'), scene.read('b')], ['two', 'one'])
  assert.deepEqual(await listener.end(), [{ event: 'IN_MOVED_TO', name: 'a' }])
}

/** @type {Record<string, (scene: Scene) => Promise<void>>} */
export const losses = {
  '22 a single-file source that is deleted: the target is kept, and it resumes when it is back': async (
    scene,
  ) => {
    await scene.behind.write('source/key', 'one')
    const mirror = await scene.start({ from: join(scene.source, 'key'), to: join(scene.target, 'key') })
    const said = scene.said(mirror)
    const listener = scene.listen()
    await scene.behind.remove('source/key')
    for (let n = 0; n < 3; n++) await mirror.refresh()
    assert.equal(mirror.state, 'source-lost')
    assert.match(JSON.stringify(said.states), /ENOENT/)
    assert.equal(scene.read('key'), 'one')
    assert.deepEqual(await listener.soFar(), [])
    await scene.behind.write('source/key', 'two')
    await mirror.refresh()
    assert.equal(mirror.state, 'mirroring')
    assert.equal(scene.read('key'), 'two')
    assert.deepEqual(await listener.end(), [{ event: 'IN_MOVED_TO', name: 'key' }])
  },

  '24 over the limit and back: an event each way, and the content flows meanwhile': async (scene) => {
    await scene.behind.write('source/key', 'one')
    const mirror = await scene.start({ limits: { files: 1, bytes: 100 } })
    const said = scene.said(mirror)
    const listener = scene.listen()
    await scene.behind.write('source/more', 'one')
    await mirror.refresh()
    assert.deepEqual(
      (await listener.soFar()).filter(({ name }) => name === 'key'),
      [{ event: 'IN_MOVED_TO', name: 'key' }],
    )
    await scene.behind.write('source/key', 'two')
    await mirror.refresh()
    assert.equal(scene.read('key'), 'two', 'no frozen content')
    await scene.behind.remove('source/more')
    await mirror.refresh()
    assert.deepEqual(
      (await listener.end()).filter(({ name }) => name === 'key'),
      [{ event: 'IN_MOVED_TO', name: 'key' }],
    )
    assert.equal(fs.lstatSync(join(scene.target, 'key')).isFile(), true)
    assert.equal(scene.read('key'), 'two')
    assert.deepEqual(said.states, [
      ['over-limit', '2 files, at most 1'],
      ['mirroring', ''],
    ])
  },

  "24 with 'hold' the last version within the limit stays, and that is said": async (scene) => {
    await scene.behind.write('source/key', 'one')
    const mirror = await scene.start({ limits: { files: 9, bytes: 3 }, overLimit: 'hold' })
    const listener = scene.listen()
    await scene.behind.write('source/key', 'more')
    await mirror.refresh()
    assert.equal(mirror.state, 'over-limit')
    assert.equal(scene.read('key'), 'one')
    assert.deepEqual(await listener.soFar(), [])
    await scene.behind.write('source/key', 'two')
    await mirror.refresh()
    assert.equal(mirror.state, 'mirroring')
    assert.equal(scene.read('key'), 'two')
    assert.deepEqual(await listener.end(), [{ event: 'IN_MOVED_TO', name: 'key' }])
  },

  '24 over the limit what is skipped is not linked to, and by default the last version stays': async (
    scene,
  ) => {
    await scene.behind.makeDirectory('source/d')
    await scene.behind.write('source/d/key', 'one')
    const mirror = await scene.start({ limits: { files: 1, bytes: 100 } })
    await scene.behind.symlink('source/d/outside', '/etc/passwd')
    await scene.behind.write('source/d/more', 'one')
    await mirror.refresh()
    assert.deepEqual([mirror.state, scene.names('d')], ['over-limit', ['key']])
    assert.equal(fs.lstatSync(join(scene.target, 'd/key')).isFile(), true)
    await mirror.close()
    const linking = await scene.start({ limits: { files: 1, bytes: 100 }, overLimit: 'link' })
    assert.deepEqual([linking.state, scene.names('d')], ['over-limit', ['key', 'more']])
    assert.equal(fs.lstatSync(join(scene.target, 'd/key')).isSymbolicLink(), true)
  },

  '25 unmounted: the target is kept, that is said, and it resumes': async (scene) => {
    // A mount of the same file system at a place of its own, that can go without the others.
    const own = join(scene.memory, 'own')
    let unmount = scene.mountAt('bind', own, scene.source)
    await loseAndResume(scene, own, {
      lose: () => unmount(),
      reason: /its mount is gone/,
      restore: () => {
        unmount = scene.mountAt('bind', own, scene.source)
      },
    })
  },

  '25 ESTALE: the target is kept, that is said, and it resumes': async (scene) => {
    await scene.behind.makeDirectory('source')
    scene.onEnd(() => scene.mount.fail?.([]))
    await loseAndResume(scene, scene.source, {
      lose: () => scene.mount.fail?.([{ name: 'source', operation: 'any', errno: 'ESTALE' }]),
      reason: /ESTALE/,
      restore: () => scene.mount.fail?.([]),
    })
  },

  '25 ENOTCONN: the server is killed, the target is kept, that is said, and it resumes': async (scene) => {
    const own = join(scene.memory, 'own')
    const [back, front] = [join(own, 'back'), join(own, 'front')]
    for (const path of [back, front]) fs.mkdirSync(path, { recursive: true })
    for (const key of ['a', 'b']) fs.writeFileSync(join(back, key), 'one')
    const { serve } = scene.mount
    if (serve === undefined) throw new Error('no server of its own')
    let server = await serve(back, front)
    const unmount = () => spawnSync('umount', ['-l', front])
    scene.onEnd(unmount)
    const mirror = await scene.start({ from: front })
    const said = scene.said(mirror)
    const listener = scene.listen()
    server.kill('SIGKILL')
    await once(server, 'exit')
    for (let n = 0; n < 3; n++) await mirror.refresh()
    assert.equal(mirror.state, 'source-lost')
    assert.match(JSON.stringify(said.states), /ENOTCONN|ECONNABORTED/)
    unmount()
    await mirror.refresh()
    assert.equal(mirror.state, 'source-lost')
    assert.deepEqual(await listener.soFar(), [], 'nothing is deleted')
    fs.writeFileSync(join(back, 'a'), 'two')
    server = await serve(back, front)
    scene.onEnd(() => server.kill('SIGKILL'))
    await mirror.refresh()
    assert.deepEqual([mirror.state, scene.read('a'), scene.read('b')], ['mirroring', 'two', 'one'])
    assert.deepEqual(await listener.end(), [{ event: 'IN_MOVED_TO', name: 'a' }])
  },
}
