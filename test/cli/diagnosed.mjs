// Runs in a mount namespace, on a tmpfs of its own: makes mounts as the kubelet and others make them, has the command look at them, and
// prints what it said as JSON.
//
//   unshare -rm node diagnosed.mjs updates|places|stopped|silent|probed DIRECTORY
import { fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { serve, serveFuse } from '../mirror/fuse_mount.mjs'

const MAIN = join(import.meta.dirname, '../../dist/cli.js')
const EXAMINER = join(import.meta.dirname, '../../dist/examiner_child.js')
const [, , scenario = '', base = ''] = process.argv
const at = (/** @type {string} */ name) => join(base, name)

/** @param {string[]} args */
function run(...args) {
  const { status, stderr } = spawnSync(args[0] ?? '', args.slice(1), { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
}

/** @param {string[]} args */
async function diagnose(...args) {
  const began = performance.now()
  const child = spawn(process.execPath, [MAIN, 'diagnose', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code, stdout, stderr, took: performance.now() - began }
}

/** Diagnoses each path with --json. Returns the diagnoses by name. @param {string[]} flags @param {string[]} names */
async function each(flags, ...names) {
  const { stdout, stderr } = await diagnose('--json', ...flags, ...names.map(at))
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return {
    ...Object.fromEntries(names.map((name, i) => [name, found[i]])),
    move: found[names.length],
    stderr,
  }
}

/** @param {string} file @param {string} over */
function bindFile(file, over) {
  fs.writeFileSync(at(over), '')
  run('mount', '--bind', at(file), at(over))
}

/** @param {string} from @param {string} to */
function renameError(from, to) {
  try {
    fs.renameSync(at(from), at(to))
    return ''
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code
  }
}

run('mount', '-t', 'tmpfs', 'none', base)
const VOLUME = 'pods/5b3c/volumes/kubernetes.io~configmap/config'

/** @type {Record<string, () => Promise<unknown>>} */
const scenarios = {
  // A ConfigMap and a Secret, each mounted whole and as a subPath, and a file as by docker -v: before and after an update.
  async updates() {
    for (const name of [VOLUME, 'secret', 'etc/app', 'etc/whole', 'etc/tls'])
      fs.mkdirSync(at(name), { recursive: true })
    run('mount', '-t', 'tmpfs', 'secret', at('secret'))
    const update = async (/** @type {string} */ value) => {
      await atomicWrite(at(VOLUME), { 'app.yaml': value })
      await atomicWrite(at('secret'), { 'tls.key': value })
      fs.writeFileSync(at('new'), value)
      fs.renameSync(at('new'), at('host.yaml'))
    }
    await update('1')
    bindFile(`${VOLUME}/app.yaml`, 'etc/app/app.yaml')
    bindFile('secret/tls.key', 'etc/tls/tls.key')
    bindFile('host.yaml', 'etc/host.yaml')
    run('mount', '--bind', at(VOLUME), at('etc/whole'))
    const names = ['etc/app/app.yaml', 'etc/tls/tls.key', 'etc/host.yaml', 'etc/whole', 'etc/whole/app.yaml']
    const before = await each([], ...names)
    await update('2')
    const after = await each([], ...names)
    const shown = fs.readFileSync(at('etc/app/app.yaml'), 'utf8')
    return { before, after, shown, alone: await diagnose(at('etc/app/app.yaml')) }
  },

  async places() {
    for (const name of ['fs/a', 'one', 'two', 'memory', 'lower', 'upper', 'work', 'merged', 'back', 'front'])
      fs.mkdirSync(at(name), { recursive: true })
    fs.writeFileSync(at('fs/a/file'), '')
    for (const name of ['one', 'two']) run('mount', '--bind', at('fs'), at(name))
    run('mount', '-t', 'tmpfs', 'none', at('memory'))
    fs.writeFileSync(at('lower/file'), 'old')
    const layers = `lowerdir=${at('lower')},upperdir=${at('upper')},workdir=${at('work')},userxattr`
    run('mount', '-t', 'overlay', 'overlay', '-o', layers, at('merged'))
    fs.writeFileSync(at('back/key'), 'x')
    const server = await serveFuse(at('back'), at('front'))
    bindFile('fs/a/file', 'pinned')
    const probed = await each(['--probe'], 'memory', 'merged', 'front', 'fs/a/file', 'pinned')
    const codes = []
    for (const names of [
      ['memory'],
      ['merged'],
      ['front'],
      ['front/key'],
      ['memory', 'front'],
      ['memory', 'none'],
    ])
      codes.push((await diagnose('--check', ...names.map(at))).code)
    const left = ['memory', 'merged', 'back', 'fs/a'].flatMap((name) => fs.readdirSync(at(name)))
    const binds = await each([], 'one', 'two')
    fs.mkdirSync(at('fs/b'))
    const same = await each([], 'one/a', 'one/b')
    const held = fs.openSync(at('merged/file'), 'r')
    fs.writeFileSync(at('lower/new'), 'new')
    fs.renameSync(at('lower/new'), at('lower/file'))
    const layer = await each([], 'merged/file', 'merged')
    fs.closeSync(held)
    server.kill('SIGKILL')
    await once(server, 'exit')
    const gone = await diagnose(at('front/key'))
    const errors = [renameError('one/a/file', 'two/a/new'), renameError('one/a/file', 'one/b/new')]
    return { probed, codes, left, binds, same, layer, gone, errors }
  },

  // A server that has taken the question and does not answer it: whoever asked cannot be killed, as over virtiofs.
  async silent() {
    for (const name of ['back/sub', 'front']) fs.mkdirSync(at(name), { recursive: true })
    const server = await serveFuse(at('back'), at('front'), at('control'))
    fs.writeFileSync(at('control'), JSON.stringify([{ name: 'sub', operation: 'any', errno: 'NONE' }]))
    const said = await diagnose(at('front/sub'))
    server.kill('SIGKILL')
    return said
  },

  // A server that does not answer, asked of something that the kernel does not remember.
  async stopped() {
    for (const name of ['back/sub', 'front']) fs.mkdirSync(at(name), { recursive: true })
    const server = await serveFuse(at('back'), at('front'))
    server.kill('SIGSTOP')
    while (!/^State:\tT/m.test(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))) await sleep(1)
    const [text, json] = await Promise.all([
      diagnose(at('front/sub'), '/proc'),
      diagnose('--json', at('front/sub')),
    ])
    server.kill('SIGKILL')
    return { text, json }
  },

  // A server that stops behind the examination, and goes on when whoever has asked for a probe has its answer and is gone.
  async probed() {
    for (const name of ['back', 'front']) fs.mkdirSync(at(name))
    const server = await serve(['bindfs', '-f', '--no-allow-other', at('back'), at('front')], at('front'))
    server.kill('SIGSTOP')
    while (!/^State:\tT/m.test(fs.readFileSync(`/proc/${server.pid}/status`, 'utf8'))) await sleep(1)
    const child = fork(EXAMINER, { serialization: 'advanced', stdio: 'inherit' })
    child.send({ probe: [at('front'), { point: at('front') }, true] })
    const [probe] = await once(child, 'message')
    const ended = once(child, 'exit')
    child.disconnect()
    const made = new Set()
    const watcher = fs.watch(at('back'), (_, name) => made.add(name?.replace(/probe-.*/, 'probe')))
    server.kill('SIGCONT')
    const [code] = await ended
    watcher.close()
    const left = fs.readdirSync(at('back'))
    server.kill('SIGKILL')
    return { probe, code, made: [...made], left }
  },
}
process.stdout.write(JSON.stringify(await scenarios[scenario]?.()))
