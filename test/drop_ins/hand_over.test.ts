// On other platforms than Linux the drop-ins are what they replace, and the rest says why not. A child says that it runs there.
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compares, HANDED_OVER, HEARD, HEARS, installed, ORIGINALS } from './installed.ts'

const ROOT = join(import.meta.dirname, '../..')

const says = (platform: string) => `Object.defineProperty(process, 'platform', { value: '${platform}' })`

/** Runs Node in a directory. */
const node = (cwd: string, ...args: string[]) =>
  spawnSync(process.execPath, args, { cwd, encoding: 'utf8', timeout: 60_000 })

/** Runs a module on a platform. */
function run(platform: string, cwd: string, text: string): string {
  const file = join(cwd, 'program.js')
  writeFileSync(file, text)
  const { stdout, stderr } = node(cwd, '--import', `data:text/javascript,${says(platform)}`, file)
  return stdout + stderr
}

/** Prints how each of these modules cannot be loaded. */
const importing = (...names: string[]) => `for (const name of ${JSON.stringify(names)})
  await import(name).then(() => console.log('is loaded'), ({ name, code, message }) => console.log(name, code, message))`

describe.skipIf(!existsSync(join(ROOT, 'dist/index.js')))('needs dist', () => {
  test.each(['darwin', 'win32'])('on %s each drop-in has the functions of its original', (platform) => {
    const cwd = installed(ORIGINALS)
    // Loaded before, since @parcel/watcher has an addon for each platform.
    writeFileSync(join(cwd, 'program.js'), compares(says(platform)))
    const { stdout, stderr } = node(cwd, 'program.js')
    expect(stdout + stderr).toBe(HANDED_OVER)
  })

  test('on Linux none has', () => {
    const cwd = installed(ORIGINALS)
    writeFileSync(join(cwd, 'program.js'), compares(''))
    const { stdout, stderr } = node(cwd, 'program.js')
    expect(stdout + stderr).toBe('chokidar \nparcel \nfs unwatchFile,watchFile\nfs/promises \n')
  })

  test.each(['chokidar', 'chokidar6'])('on darwin %s, and the others, tell of a new file', (chokidar) => {
    const cwd = installed({ ...ORIGINALS, chokidar: `node_modules/${chokidar}` })
    writeFileSync(join(cwd, 'program.js'), HEARS)
    const first = `import { createRequire } from 'node:module'
      createRequire(import.meta.url)('@parcel/watcher')
      ${says('darwin')}`
    writeFileSync(join(cwd, 'first.js'), first)
    const { stdout, stderr } = node(cwd, '--import', './first.js', 'program.js')
    expect(stdout + stderr).toBe(HEARD)
  })

  test.each([
    ['chokidar', 'chokidar'],
    ['parcel', '@parcel/watcher'],
  ])('/%s without its original says what to install', (dropIn, original) => {
    expect(run('darwin', installed(), importing(`inotify-bridge/${dropIn}`))).toMatch(
      new RegExp(
        `^AddonLoadError ERR_INOTIFY_BRIDGE_ADDON inotify-bridge has no addon for darwin-\\w+: inotify-bridge/${dropIn} hands over to ${original} there, which is not installed: npm install ${original}\n$`,
      ),
    )
  })

  test.each([
    ['chokidar', 'chokidar', 'chokidar'],
    ['parcel', '@parcel/watcher', 'parcel-watcher'],
  ])(
    '/%s in the place of its original, by an override, is an error and no circle',
    (dropIn, original, own) => {
      const text = importing(`inotify-bridge/${dropIn}`, original)
      const said = run('darwin', installed({ [original]: `packages/${own}` }), text)
      const line = `AddonLoadError .* hands over to ${original} there, and an override puts inotify-bridge in its place: .*\n`
      expect(said).toMatch(new RegExp(`^(${line}){2}$`))
    },
  )

  test('the rest of the package is imported, and says that it needs Linux', () => {
    const text = `
const { Inotify, diagnose, mirror, moveFile, publishDirectory, reload, replaceFile, waitFor, watch } = await import('inotify-bridge')
const { run } = await import('inotify-bridge/run')
for (const attempt of [
  () => new Inotify(), () => watch('.').ready, () => waitFor('.'), () => diagnose('.'), () => mirror('.', './copy'), () => replaceFile('x', ''),
  () => moveFile('program.js', 'y'), () => publishDirectory('z', { key: '' }), () => reload({ paths: ['.'], action: { command: ['true'] } }), () => run('true'),
])
  try { await attempt(); console.log('nothing') } catch ({ name, message }) { console.log(name, message) }`
    const lines = run('darwin', installed(), text).trim().split('\n')
    expect(lines).toHaveLength(10)
    for (const line of lines)
      expect(line).toMatch(
        /^AddonLoadError inotify-bridge has no \w+ for darwin-\w+: inotify is a facility of the Linux kernel: run this on Linux\. Elsewhere/,
      )
  })

  test.each([
    ['watch', '.'],
    ['mirror', '.', 'copy', '--in-place', '--', 'true'],
    ['publish', 'program.js', 'copy'],
    ['reload', '.', '--', 'true'],
    ['diagnose', '.'],
    ['run', '--', 'true'],
    ['relay', '--listen', '-', '.'],
  ])('so does the command: %s', (...words) => {
    const cwd = installed()
    const cli = join(cwd, 'node_modules/inotify-bridge/dist/cli.js')
    const { status, stdout, stderr } = node(
      cwd,
      '--import',
      `data:text/javascript,${says('darwin')}`,
      cli,
      ...words,
    )
    expect(stderr).toMatch(
      /^inotify-bridge \w+: inotify-bridge has no addon for darwin-\w+: inotify is a .*\n$/,
    )
    expect([status, stdout]).toEqual([1, ''])
  })

  test('exec runs its program', () => {
    const cwd = installed()
    const cli = join(cwd, 'node_modules/inotify-bridge/dist/cli.js')
    const words = ['exec', '--', process.execPath, '-e', 'console.log(1)']
    const { stdout, stderr } = node(cwd, '--import', `data:text/javascript,${says('darwin')}`, cli, ...words)
    expect([stdout, stderr]).toEqual(['1\n', ''])
  })
})
