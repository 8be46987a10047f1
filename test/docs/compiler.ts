import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratch } from '../support/scratch.ts'
import { ROOT } from './pages.ts'

const compilerOptions = {
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  allowJs: true,
  checkJs: true,
  noEmit: true,
  skipLibCheck: true,
}

/** What the compiler complains of in files of a user who has installed the package; '' if nothing. */
export function complaintsOf(files: Record<string, string>): string {
  const folder = scratch()
  installIn(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  // Among them what a user has as well: npm's packages of types.
  symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: Object.keys(files) }),
  )
  return spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' }).stdout
}

/** What the docs' blocks import: this package, and the watchers that it is compared with. */
export function installIn(folder: string): void {
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/inotify-bridge'))
  for (const name of ['@parcel', 'chokidar'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
}
