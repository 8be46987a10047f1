// Behaviours of Kata's agent for its watched mounts, in the words of its tests.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { join } from 'node:path'
import { until } from './scene.mjs'

/** @type {Record<string, (scene: import('./scene.mjs').Scene) => Promise<void>>} */
export const kata = {
  '1 an empty source: the target exists and is empty': async (scene) => {
    const mirror = await scene.start()
    assert.deepEqual(scene.names(), [])
    assert.equal(mirror.state, 'mirroring')
  },

  '2 a single file to a single file': async (scene) => {
    await scene.behind.write('source/key', 'one')
    const to = join(scene.memory, 'single/file')
    fs.mkdirSync(join(to, '..'))
    const mirror = await scene.start({ from: join(scene.source, 'key'), to })
    assert.equal(fs.readFileSync(to, 'utf8'), 'one')
    await scene.behind.write('source/key', 'in place')
    await mirror.refresh()
    assert.equal(fs.readFileSync(to, 'utf8'), 'in place')
    if (scene.mount.kind === 'overlay') return
    const listener = scene.listen(join(to, '..'))
    await scene.behind.replace('source/key', 'renamed')
    await mirror.refresh()
    assert.equal(fs.readFileSync(to, 'utf8'), 'renamed')
    assert.deepEqual(await listener.end(), [{ event: 'IN_MOVED_TO', name: 'file' }])
  },

  '3 within the limits it is watched; a byte or a file over it is not, and its content still flows': async (
    scene,
  ) => {
    const limits = { files: 2, bytes: 6 }
    for (const name of ['exactly', 'bytes', 'files']) {
      await scene.behind.makeDirectory(`source/${name}`)
      for (const key of ['a', 'b']) await scene.behind.write(`source/${name}/${key}`, 'one')
    }
    await scene.behind.write('source/bytes/b', 'four')
    await scene.behind.write('source/files/c', '')
    /** @param {string} name */
    const start = (name) =>
      scene.start({ from: join(scene.source, name), to: `${scene.target}-${name}`, limits })
    const [exactly, bytes, files] = [await start('exactly'), await start('bytes'), await start('files')]
    assert.deepEqual([exactly.state, bytes.state, files.state], ['mirroring', 'over-limit', 'over-limit'])
    for (const name of ['exactly', 'bytes', 'files']) await scene.behind.write(`source/${name}/a`, 'two')
    for (const mirror of [exactly, bytes, files]) await mirror.refresh()
    for (const name of ['exactly', 'bytes', 'files'])
      assert.equal(fs.readFileSync(`${scene.target}-${name}/a`, 'utf8'), 'two')
    assert.equal(fs.lstatSync(`${scene.target}-exactly/a`).isFile(), true)
  },

  '4 a source that shrinks below the limit is watched again': async (scene) => {
    for (const key of ['a', 'b', 'c']) await scene.behind.write(`source/${key}`, 'one')
    const mirror = await scene.start({ limits: { files: 2, bytes: 100 } })
    assert.equal(mirror.state, 'over-limit')
    await scene.behind.remove('source/c')
    await mirror.refresh()
    assert.equal(mirror.state, 'mirroring')
    const listener = scene.listen()
    await scene.behind.write('source/a', 'two')
    await mirror.refresh()
    assert.deepEqual(await listener.end(), [{ event: 'IN_MOVED_TO', name: 'a' }])
    assert.equal(scene.read('a'), 'two')
  },

  '5 uid, gid and mode are kept; a symlink stays a link': async (scene) => {
    for (const [name, mode] of Object.entries({ open: 0o644, shut: 0o600, run: 0o755 })) {
      await scene.behind.write(`source/${name}`, name)
      await scene.behind.chmod(`source/${name}`, mode)
    }
    await scene.behind.makeDirectory('source/sub')
    await scene.behind.chmod('source/sub', 0o751)
    const owned = scene.mount.isRoot ? ['open', 'sub'] : []
    for (const name of owned) await scene.behind.chown(`source/${name}`, 1234, 4321)
    await scene.behind.symlink('source/link', 'open')
    await scene.start()
    for (const name of ['open', 'shut', 'run', 'sub']) {
      const [had, has] = [scene.source, scene.target].map((at) => fs.lstatSync(join(at, name)))
      assert.deepEqual([has?.uid, has?.gid, has?.mode], [had?.uid, had?.gid, had?.mode], name)
    }
    for (const name of owned) assert.equal(fs.statSync(join(scene.target, name)).uid, 1234)
    assert.equal(fs.readlinkSync(join(scene.target, 'link')), 'open')
  },

  '6 a relative dangling link is copied and resolves once what it names is there': async (scene) => {
    await scene.behind.symlink('source/link', 'later')
    const mirror = await scene.start()
    assert.equal(fs.readlinkSync(join(scene.target, 'link')), 'later')
    await scene.behind.write('source/later', 'there')
    await mirror.refresh()
    assert.equal(scene.read('link'), 'there')
  },

  '7 rmdir -r empties the target, and a second scan does nothing': async (scene) => {
    await scene.behind.makeDirectory('source/a/b')
    for (const name of ['a/one', 'a/b/two', 'three']) await scene.behind.write(`source/${name}`, name)
    const mirror = await scene.start()
    assert.deepEqual(scene.names(), ['a', 'three'])
    await scene.behind.remove('source/a')
    await scene.behind.remove('source/three')
    await mirror.refresh()
    assert.deepEqual(scene.names(), [])
    const [listener, said] = [scene.listen(), scene.said(mirror)]
    await mirror.refresh()
    assert.deepEqual(await listener.end(), [])
    assert.deepEqual(said, { states: [], errors: [], skipped: [], updates: [] })
  },

  "8 an AtomicWriter's tree: at first, unchanged, a file edited, the directory swapped": async (scene) => {
    await scene.behind.atomic('source', { a: 'one', b: 'one' })
    const mirror = await scene.start()
    assert.deepEqual(scene.names(), fs.readdirSync(scene.source).sort())
    assert.equal(scene.read('a'), 'one')
    const listener = scene.listen()
    await mirror.refresh()
    assert.deepEqual(await listener.soFar(), [])
    await scene.behind.write(`source/${fs.readlinkSync(join(scene.target, '..data'))}/a`, 'edited')
    await mirror.refresh()
    assert.deepEqual([scene.read('a'), scene.read('b')], ['edited', 'one'])
    const before = fs.readlinkSync(join(scene.target, '..data'))
    await scene.behind.atomic('source', { a: 'two', c: 'two' })
    await mirror.refresh()
    assert.notEqual(fs.readlinkSync(join(scene.target, '..data')), before)
    assert.deepEqual([scene.read('a'), scene.read('c')], ['two', 'two'])
    const data = fs.readlinkSync(join(scene.target, '..data'))
    assert.deepEqual(scene.names(), ['..data', data, 'a', 'c'].sort())
  },

  '9 nested and empty directories': async (scene) => {
    await scene.behind.makeDirectory('source/a/b/c')
    await scene.behind.makeDirectory('source/empty')
    await scene.behind.write('source/a/b/c/key', 'deep')
    const mirror = await scene.start()
    assert.equal(scene.read('a/b/c/key'), 'deep')
    assert.deepEqual(scene.names('empty'), [])
    await scene.behind.makeDirectory('source/empty/less')
    await scene.behind.write('source/a/b/c/new', 'deep')
    await mirror.refresh()
    assert.deepEqual([scene.names('empty'), scene.names('a/b/c')], [['less'], ['key', 'new']])
  },

  '10 a file that is deleted goes': async (scene) => {
    for (const name of ['goes', 'stays']) await scene.behind.write(`source/${name}`, name)
    const mirror = await scene.start()
    const listener = scene.listen()
    await scene.behind.remove('source/goes')
    await mirror.refresh()
    assert.deepEqual(await listener.end(), [{ event: 'IN_DELETE', name: 'goes' }])
    assert.deepEqual(scene.names(), ['stays'])
  },

  '11 what is new is there within one interval': async (scene) => {
    const interval = 1000
    // Behind the first pass, and those that follow it sooner.
    const mirror = await scene.start({ interval })
    for (let n = 0; n < 5; n++) await mirror.refresh()
    /** @type {number[]} */
    const took = []
    // Half of another, and three tries, for a machine that is busy: what is slow in itself is slow again.
    for (let n = 0; n < 3 && !took.some((ms) => ms < 1.5 * interval); n++) {
      const began = performance.now()
      await scene.behind.write(`source/key${n}`, 'one')
      await until(() => fs.existsSync(join(scene.target, `key${n}`)))
      took.push(performance.now() - began)
      assert.equal(scene.read(`key${n}`), 'one')
    }
    assert.ok(Math.min(...took) < 1.5 * interval, `${took} ms`)
  },

  '12 closing removes what it made, and only that': async (scene) => {
    await scene.behind.atomic('source', { a: 'one' })
    await scene.behind.makeDirectory('source/sub')
    await scene.behind.write('source/sub/flat', 'one')
    const made = await scene.start()
    await made.close()
    assert.equal(fs.existsSync(scene.target), false)
    fs.mkdirSync(scene.target)
    fs.writeFileSync(join(scene.target, 'theirs'), '')
    const beside = await scene.start()
    assert.equal(scene.read('a'), 'one')
    await beside.close()
    assert.deepEqual(fs.readdirSync(scene.target), ['theirs'])
  },

  '13 a recursive watcher of the target is told, and the key is still a symlink': async (scene) => {
    await scene.behind.atomic('source', { key: 'one' })
    await scene.start({ interval: 50 })
    const watcher = scene.library.watch(scene.target, { recursive: true, backend: 'inotify' })
    scene.onEnd(() => watcher.close())
    await watcher.ready
    /** @type {Promise<void>} */
    const told = new Promise((resolve) => {
      watcher.on('changes', (changes) => {
        if (changes.some(({ path }) => path === join(scene.target, '..data'))) resolve()
      })
    })
    await scene.behind.atomic('source', { key: 'two' })
    await told
    assert.equal(scene.read('key'), 'two')
    assert.equal(fs.readlinkSync(join(scene.target, 'key')), '..data/key')
  },
}
