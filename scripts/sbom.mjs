// npm run --silent sbom: prints the software bill of materials, as CycloneDX, of the packages that are
// installed with this one. Fails if they are more than promised.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
/** The run-time dependencies, and their dependencies. */
const PROMISED = ['bindings', 'file-uri-to-path']

const omitted = ['dev', 'optional', 'peer'].flatMap((kind) => ['--omit', kind])
const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', ...omitted]
/** @type {{ metadata: { component: { name: string } }, components: Array<{ name: string }> }} */
const bill = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' }))

const names = bill.components.map(({ name }) => name).sort()
if (names.join() !== PROMISED.join()) {
  process.stderr.write(
    `inotify-bridge: installed with it are ${names.join(', ')}, not ${PROMISED.join(', ')}\n`,
  )
  process.exit(1)
}
// npm takes that of the directory.
bill.metadata.component.name = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).name
process.stdout.write(`${JSON.stringify(bill, undefined, 2)}\n`)
