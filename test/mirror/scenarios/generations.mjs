// Beyond Kata: the swap of an AtomicWriter arrives as the swap that it is.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import { whole } from './scene.mjs'

/** @param {string} letter */
const both = (letter) => ({ a: whole(letter), b: whole(letter) })

/** @type {Record<string, (scene: import('./scene.mjs').Scene) => Promise<void>>} */
export const generations = {
  '14 a swap is exactly one MOVED_TO ..data; a tight reader meets nothing missing, dangling or torn': async (
    scene,
  ) => {
    await scene.behind.atomic('source', both('A'))
    const mirror = await scene.start()
    const stop = await scene.readTightly('a')
    const listener = scene.listen()
    const letters = ['B', 'C', 'D', 'E', 'F']
    for (const letter of letters) {
      await scene.behind.atomic('source', both(letter))
      await mirror.refresh()
      assert.equal(scene.read('b'), whole(letter))
    }
    const { reads, missing, torn } = await stop()
    assert.deepEqual({ missing, torn }, { missing: 0, torn: 0 })
    assert.ok(reads > 10, `${reads} reads`)
    const heard = (await listener.end()).filter(({ name }) => name === '..data')
    assert.deepEqual(
      heard,
      letters.map(() => ({ event: 'IN_MOVED_TO', name: '..data' })),
    )
  },

  '15 the new directory is complete before ..data moves, and the old one goes after it': async (scene) => {
    await scene.behind.atomic('source', { a: 'one', goes: 'one' })
    const mirror = await scene.start()
    const old = fs.readlinkSync(join(scene.target, '..data'))
    const listener = scene.listen()
    /** @type {string[][]} */
    const complete = []
    listener.onEvent(({ event, name }) => {
      if (event.startsWith('IN_MOVED_TO') && name.startsWith('..2')) complete.push(scene.names(name))
    })
    await scene.behind.atomic('source', { a: 'two', comes: 'two' })
    await mirror.refresh()
    const next = fs.readlinkSync(join(scene.target, '..data'))
    const heard = (await listener.end()).map(({ event, name }) => `${event} ${name}`)
    assert.deepEqual(complete, [['a', 'comes']])
    // `a`'s link is not touched; that of the new key comes when it can be followed, that of the old one goes when it cannot.
    assert.deepEqual(heard, [
      `IN_MOVED_TO|IN_ISDIR ${next}`,
      'IN_CREATE ..data_tmp',
      'IN_MOVED_FROM ..data_tmp',
      'IN_MOVED_TO ..data',
      'IN_MOVED_TO comes',
      'IN_DELETE goes',
      `IN_DELETE|IN_ISDIR ${old}`,
    ])
  },

  '15 ..data that leads over another link is followed; beside one that leads to nothing files are mirrored':
    async (scene) => {
      const make = async (/** @type {string} */ n) => {
        await scene.behind.makeDirectory(`source/..${n}`)
        await scene.behind.write(`source/..${n}/key`, n)
        await scene.behind.symlink('source/..tmp', `..${n}`)
        await scene.behind.rename('source/..tmp', '..current')
      }
      await make('1')
      await scene.behind.symlink('source/..data', '..current')
      await scene.behind.symlink('source/key', '..data/key')
      const mirror = await scene.start()
      const said = scene.said(mirror)
      assert.equal(scene.read('key'), '1')
      await make('2')
      await mirror.refresh()
      assert.equal(scene.read('key'), '2')
      await scene.behind.remove('source/..current')
      await scene.behind.write('source/flat', 'new')
      await mirror.refresh()
      assert.deepEqual([scene.read('key'), scene.read('flat')], ['2', 'new'])
      assert.deepEqual(said.skipped, [{ path: '..data', reason: 'leads to ..current, which is not there' }])
      await make('3')
      await mirror.refresh()
      assert.equal(scene.read('key'), '3')
      assert.deepEqual([said.states, said.errors, mirror.skipped], [[], [], []])
    },

  '23 two timestamped directories during an update never count towards the limits': async (scene) => {
    await scene.behind.atomic('source', { a: 'one', b: 'one' })
    const mirror = await scene.start({ limits: { files: 2, bytes: 6 } })
    const said = scene.said(mirror)
    await scene.behind.makeDirectory('source/..next')
    for (const key of ['a', 'b']) await scene.behind.write(`source/..next/${key}`, 'two')
    await mirror.refresh()
    assert.deepEqual([mirror.state, scene.read('a')], ['mirroring', 'one'])
    await scene.behind.symlink('source/..data_tmp', '..next')
    await scene.behind.rename('source/..data_tmp', '..data')
    await mirror.refresh()
    assert.deepEqual([mirror.state, scene.read('a'), scene.read('b')], ['mirroring', 'two', 'two'])
    assert.equal(
      fs.lstatSync(join(scene.target, fs.readlinkSync(join(scene.target, '..data')))).isDirectory(),
      true,
    )
    assert.deepEqual(said.states, [])
  },

  '27 a scan that races a swap is thrown away and done again': async (scene) => {
    await scene.behind.atomic('source', both('A'))
    await race(scene, () => scene.behind.atomic('source', both('C')))
  },

  '27 so is one that could have read the old directory to its end': async (scene) => {
    await scene.behind.atomic('source', both('A'))
    await scene.behind.makeDirectory('source/..next')
    for (const key of ['a', 'b']) await scene.behind.write(`source/..next/${key}`, whole('C'))
    await scene.behind.symlink('source/..link', '..next')
    await race(scene, () => scene.behind.rename('source/..link', '..data'))
  },
}

/**
 * Mirrors A, then swaps to B, and while that is copied to C.
 *
 * @param {import('./scene.mjs').Scene} scene
 * @param {() => Promise<unknown>} swap
 */
async function race(scene, swap) {
  const mirror = await scene.start()
  const listener = scene.listen()
  await scene.behind.atomic('source', both('B'))
  const { DirectoryHandle } = await heldOf()
  const { file } = DirectoryHandle.prototype
  let copies = 0
  /** @type {Promise<unknown> | undefined} */
  let swapped
  scene.onEnd(() => {
    DirectoryHandle.prototype.file = file
  })
  // Before the second of its two files is opened.
  DirectoryHandle.prototype.file = async function (name, most) {
    if (++copies === 2) swapped = swap()
    await swapped
    return await file.call(this, name, most)
  }
  await mirror.refresh()
  assert.deepEqual([scene.read('a'), scene.read('b')], [whole('C'), whole('C')])
  assert.ok(copies >= 4, `${copies} copies`)
  const swaps = (await listener.end()).filter(({ name }) => name === '..data')
  assert.deepEqual(swaps, [{ event: 'IN_MOVED_TO', name: '..data' }])
  assert.deepEqual(mirror.skipped, [])
}

/**
 * The module that the library reads sources with, as it was built.
 *
 * @returns {Promise<typeof import('../../../src/mounts/syscalls/directory_handle.ts')>}
 */
function heldOf() {
  return import(join(import.meta.dirname, '../../../out/mounts/syscalls/directory_handle.js'))
}
