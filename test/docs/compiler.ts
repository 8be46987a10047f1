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

/** Returns the compiler's errors in files of a user who has installed the package, or ''. */
export function complaintsOf(files: Record<string, string>): string {
  const folder = scratch()
  installIn(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  // npm's packages of types are there, as a user has them.
  symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'))
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: Object.keys(files) }),
  )
  return spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' }).stdout
}

/** Installs the imports of the docs' blocks: this package, and the watchers that the docs compare with it. */
export function installIn(folder: string): void {
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/inotify-bridge'))
  for (const name of ['@parcel', 'chokidar'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
}
