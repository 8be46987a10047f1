import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')

/** A copy of what is packed, and of what has been built, to pack or to compile in while others use the checkout itself. Leaves out what examples/ has installed. */
export function copyCheckout(directory: string): void {
  const { files }: { files: string[] } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const shipped = files.filter((name) => existsSync(join(ROOT, name)))
  const compiled = ['inotify_bridge.node', 'inotify_bridge_enter', 'inotify_bridge_run'].map(
    (name) => `build/Release/${name}`,
  )
  for (const name of ['package.json', 'README.md', 'LICENSE', 'scripts', ...shipped, ...compiled])
    cpSync(join(ROOT, name), join(directory, name), { recursive: true, filter: isNotInstalled })
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'))
}

/** `npm ci --prefix examples` installs 21,000 files, none of which is packed. */
export const isNotInstalled = (path: string) => basename(path) !== 'node_modules'

/** Makes its prebuilds/: of all architectures, or of these. Returns the directory. */
export function makePrebuilds(checkout: string, architectures: string[] = []): string {
  const script = join(checkout, 'scripts/prebuilds.mjs')
  execFileSync(process.execPath, [script, 'make', ...architectures], { stdio: ['ignore', 'pipe', 'pipe'] })
  return join(checkout, 'prebuilds')
}

/** Packs what has been built, with what `npm pack` does before done by hand. Returns the tarball's name in `folder`. */
export function packBuilt(folder: string, architectures: string[] = [process.arch]): string {
  const checkout = join(folder, 'checkout')
  copyCheckout(checkout)
  makePrebuilds(checkout, architectures)
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
  return execFileSync('npm', args, { cwd: checkout, encoding: 'utf8' }).trim()
}
