// A mount that has one mode and one owner for everything, as cifs and vfat have: where others may rename, no version can be marked there.
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { MAIN } from '../cli/command.ts'
import { scratch } from '../support/scratch.ts'

/** The mount goes with the namespace, and its server with it. */
const SCRIPT = `mkdir src mnt
bindfs $1 src mnt
for content in one two; do
  echo $content >key
  "$2" "$3" publish --configmap key mnt || true
done
LC_ALL=C ls -A mnt
cat mnt/key || true`

const mayMount =
  process.getuid?.() === 0 &&
  spawnSync('bindfs', ['--version']).status === 0 &&
  spawnSync('unshare', ['-m', 'sh', '-c', ': </dev/fuse']).status === 0

/** What is told when a key is published twice there, and then what is in the directory. */
function published(options: string): string[] {
  const args = ['-m', 'sh', '-ec', SCRIPT, 'sh', options, process.execPath, MAIN]
  const { stdout, stderr } = spawnSync('unshare', args, { cwd: scratch(), encoding: 'utf8', timeout: 30_000 })
  return `${stdout}${stderr}`
    .trim()
    .replace(/\.\.2[\d_.]+/g, 'VERSION')
    .split('\n')
}

test.skipIf(!mayMount).each(['-p 0700 -u 65534', '-p 0777'])(
  'bindfs %s: versions come and go (needs root and bindfs)',
  (options) => {
    const said = ['published mnt: key', 'published mnt: key']
    expect(published(`${options} --chmod-ignore`)).toEqual([...said, 'VERSION', '..data', 'key', 'two'])
  },
)

test.skipIf(!mayMount)(
  'where a mode cannot be set either it is EPERM, and nothing is left (needs root and bindfs)',
  () => {
    const said = published('-p 0777 --chmod-deny')
    expect(said.filter((line) => line.includes('EPERM'))).toHaveLength(2)
    expect(said).not.toContain('VERSION')
  },
)
