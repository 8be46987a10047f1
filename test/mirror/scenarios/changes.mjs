// Beyond Kata: what changes in a source, and what in it cannot be mirrored.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { until } from './scene.mjs'

/** @type {Record<string, (scene: import('./scene.mjs').Scene) => Promise<void>>} */
export const changes = {
  '16 a regular file changes by a rename that no one has seen prepared, and keeps its old inode until then':
    async (scene) => {
      await scene.behind.write('source/key', 'one')
      const mirror = await scene.start()
      const old = fs.openSync(join(scene.target, 'key'), 'r')
      scene.onEnd(() => fs.closeSync(old))
      const listener = scene.listen()
      await scene.behind.write('source/key', 'two')
      await mirror.refresh()
      assert.deepEqual(await listener.end(), [{ event: 'IN_MOVED_TO', name: 'key' }])
      assert.equal(fs.readFileSync(old, 'utf8'), 'one')
      assert.equal(scene.read('key'), 'two')
    },

  '16 a reader of a regular file sees the old or the new version, never part of one': async (scene) => {
    await scene.behind.write('source/key', 'A'.repeat(65_536))
    const mirror = await scene.start()
    const stop = await scene.readTightly('key')
    for (const letter of ['B', 'C', 'D', 'E', 'F']) {
      await scene.behind.write('source/key', letter.repeat(65_536))
      await mirror.refresh()
      assert.equal(scene.read('key').charAt(0), letter)
    }
    const { reads, missing, torn } = await stop()
    assert.deepEqual({ missing, torn }, { missing: 0, torn: 0 })
    assert.ok(reads > 10, `${reads} reads`)
  },

  '17 a standing dangling link gives no event at any of 20 scans': async (scene) => {
    await scene.behind.symlink('source/link', 'nowhere')
    await scene.behind.makeDirectory('source/sub')
    await scene.behind.symlink('source/sub/link', '../nowhere')
    const mirror = await scene.start()
    const [listener, below] = [scene.listen(), scene.listen(join(scene.target, 'sub'))]
    const said = scene.said(mirror)
    for (let n = 0; n < 20; n++) await mirror.refresh()
    assert.deepEqual([await listener.end(), await below.end()], [[], []])
    assert.deepEqual(said, { states: [], errors: [], skipped: [], updates: [] })
    assert.equal(fs.readlinkSync(join(scene.target, 'link')), 'nowhere')
  },

  '18 the same mtime, an older mtime and the same size are detected': async (scene) => {
    for (const name of ['same', 'older', 'size']) await scene.behind.write(`source/${name}`, 'one')
    // Node.js puts back no fraction of a millisecond.
    await scene.behind.setMtime('source/same', 2000)
    const mirror = await scene.start()
    const listener = scene.listen()
    await scene.behind.writeSameTimes('source/same', 'two')
    await scene.behind.write('source/older', 'older')
    await scene.behind.setMtime('source/older', 1000)
    await scene.behind.write('source/size', 'two')
    await mirror.refresh()
    assert.deepEqual(
      ['same', 'older', 'size'].map((name) => scene.read(name)),
      ['two', 'older', 'two'],
    )
    const heard = (await listener.end()).map(({ event, name }) => `${event} ${name}`).sort()
    assert.deepEqual(heard, ['IN_MOVED_TO older', 'IN_MOVED_TO same', 'IN_MOVED_TO size'])
  },

  '20 a FIFO, a socket and a device are skipped and reported, the rest is mirrored, nothing blocks': async (
    scene,
  ) => {
    await scene.behind.write('source/a', 'one')
    const mirror = await scene.start()
    const said = scene.said(mirror)
    await scene.behind.special('source/fifo', 'p')
    const devices = scene.mount.isRoot ? ['device'] : []
    for (const name of devices) await scene.behind.special(`source/${name}`, 'c')
    await scene.behind.socket('source/socket')
    await scene.behind.write('source/z', 'one')
    await mirror.refresh()
    await mirror.refresh()
    assert.deepEqual(scene.names(), ['a', 'z'])
    assert.deepEqual(said.skipped, [
      ...devices.map((path) => ({ path, reason: 'a device, not a file, directory or symlink' })),
      { path: 'fifo', reason: 'a FIFO, not a file, directory or symlink' },
      { path: 'socket', reason: 'a socket, not a file, directory or symlink' },
    ])
  },

  '21 a file, a link and a directory change into each other': async (scene) => {
    const kinds = ['file', 'link', 'directory']
    /** @param {string} name @param {string | undefined} kind */
    const make = async (name, kind) => {
      if (kind === 'file') await scene.behind.write(name, 'text')
      else if (kind === 'link') await scene.behind.symlink(name, 'elsewhere')
      else {
        await scene.behind.makeDirectory(name)
        await scene.behind.write(`${name}/inside`, 'text')
      }
    }
    for (const [n, kind] of kinds.entries()) await make(`source/${n}`, kind)
    const mirror = await scene.start()
    for (let turn = 1; turn <= 3; turn++) {
      for (const n of kinds.keys()) {
        await scene.behind.remove(`source/${n}`)
        await make(`source/${n}`, kinds[(n + turn) % 3])
      }
      await mirror.refresh()
      for (const n of kinds.keys()) {
        const stat = fs.lstatSync(join(scene.target, `${n}`))
        const kind = stat.isFile() ? 'file' : stat.isSymbolicLink() ? 'link' : 'directory'
        assert.equal(kind, kinds[(n + turn) % 3], `${n} in turn ${turn}`)
        if (kind === 'directory') assert.equal(scene.read(`${n}/inside`), 'text')
      }
    }
  },

  '26 chmod or chown alone is mirrored, as ATTRIB': async (scene) => {
    for (const name of ['mode', 'owner']) await scene.behind.write(`source/${name}`, name)
    const mirror = await scene.start()
    const inodes = ['mode', 'owner'].map((name) => fs.statSync(join(scene.target, name)).ino)
    const listener = scene.listen()
    await scene.behind.chmod('source/mode', 0o600)
    const names = scene.mount.isRoot ? ['mode', 'owner'] : ['mode']
    if (scene.mount.isRoot) await scene.behind.chown('source/owner', 1234, 4321)
    await mirror.refresh()
    const [mode, owner] = ['mode', 'owner'].map((name) => fs.statSync(join(scene.target, name)))
    assert.deepEqual([mode?.ino, owner?.ino], inodes)
    assert.equal(mode?.mode, 0o100600)
    if (scene.mount.isRoot) assert.deepEqual([owner?.uid, owner?.gid], [1234, 4321])
    const heard = await listener.end()
    assert.deepEqual(new Set(heard.map(({ event }) => event)), new Set(['IN_ATTRIB']))
    assert.deepEqual(new Set(heard.map(({ name }) => name)), new Set(names))
  },

  '19 a copy that failed with EIO is tried again at the next tick': async (scene) => {
    for (const name of ['good', 'broken']) await scene.behind.write(`source/${name}`, 'one')
    const mirror = await scene.start()
    const said = scene.said(mirror)
    for (const name of ['good', 'broken']) await scene.behind.write(`source/${name}`, 'two')
    scene.mount.fail?.([{ name: 'broken', operation: 'read', errno: 'EIO' }])
    scene.onEnd(() => scene.mount.fail?.([]))
    await mirror.refresh()
    await mirror.refresh()
    assert.deepEqual([scene.read('good'), scene.read('broken')], ['two', 'one'])
    assert.equal(mirror.state, 'mirroring')
    assert.equal(said.skipped.length, 1)
    assert.match(JSON.stringify(said.skipped[0]), /"broken".*EIO/)
    scene.mount.fail?.([])
    await mirror.refresh()
    assert.equal(scene.read('broken'), 'two')
    assert.deepEqual(mirror.skipped, [])
  },

  '19 a copy that failed with ENOSPC is tried again at the next tick': async (scene) => {
    scene.mountAt('tmpfs', scene.target, '-o', 'size=64k')
    await scene.behind.write('source/key', 'one')
    const mirror = await scene.start({ interval: 50 })
    const said = scene.said(mirror)
    fs.writeFileSync(join(scene.target, 'theirs'), 'x'.repeat(45_000))
    await scene.behind.write('source/key', '2'.repeat(20_000))
    await until(() => said.errors.length > 0)
    assert.match(String(said.errors[0]), /ENOSPC/)
    assert.equal(scene.read('key'), 'one')
    fs.unlinkSync(join(scene.target, 'theirs'))
    await until(() => scene.read('key') !== 'one')
    assert.equal(scene.read('key'), '2'.repeat(20_000))
    assert.equal(said.errors.length, 1)
  },

  '19 a copy that failed with EACCES is tried again at the next tick': async (scene) => {
    await scene.behind.write('source/key', 'one')
    await scene.behind.write('source/good', 'one')
    await scene.behind.chmod('source/key', 0)
    const program = join(import.meta.dirname, 'ordinary.mjs')
    // Root without its right to pass over modes: an ordinary user as far as its own files go, also where it is the only one.
    const drop = '--bounding-set=-dac_override,-dac_read_search'
    const argv = ['--inh-caps=-all', drop, process.execPath, program, scene.source, scene.target]
    const child = spawn('setpriv', argv, { stdio: ['pipe', 'pipe', 'inherit'] })
    scene.onEnd(() => child.kill('SIGKILL'))
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    assert.match((await lines.next()).value, /"path":"key".*EACCES/)
    assert.equal(scene.read('good'), 'one')
    assert.equal(fs.existsSync(join(scene.target, 'key')), false)
    await scene.behind.chmod('source/key', 0o600)
    assert.deepEqual(JSON.parse((await lines.next()).value), { changed: ['key'] })
    assert.equal(scene.read('key'), 'one')
    child.stdin.end()
    assert.equal((await lines.next()).done, true)
  },
}
