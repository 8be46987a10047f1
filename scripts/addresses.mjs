// addresses.mjs set URL AUTHOR: writes the addresses of the repository, the home page and the bugs into
//   package.json, and into those of packages/. The release does so, because only the release knows the address.
// addresses.mjs check: fails if package.json lacks the addresses. npm runs this before it publishes.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [, , action = '', url = '', author = ''] = process.argv
const root = join(import.meta.dirname, '..')
const others = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)

/** @param {string} directory */
function manifestOf(directory) {
  const path = join(root, directory, 'package.json')
  return { path, manifest: JSON.parse(readFileSync(path, 'utf8')) }
}

if (action === 'set' && URL.canParse(url) && author !== '') {
  for (const directory of ['', ...others]) {
    const { path, manifest } = manifestOf(directory)
    const repository = { type: 'git', url: `git+${url}.git`, ...(directory && { directory }) }
    const addresses = { author, repository, homepage: `${url}#readme`, bugs: `${url}/issues` }
    writeFileSync(path, `${JSON.stringify({ ...manifest, ...addresses }, undefined, 2)}\n`)
  }
} else if (action === 'check') {
  for (const directory of ['', ...others]) {
    const { path, manifest } = manifestOf(directory)
    const missing = ['author', 'repository', 'homepage', 'bugs'].filter((field) => !manifest[field])
    if (missing.length === 0) continue
    process.stderr.write(
      `${path}: no ${missing.join(', ')}. npm refuses provenance without: node scripts/addresses.mjs set https://HOST/OWNER/NAME OWNER\n`,
    )
    process.exitCode = 1
  }
} else {
  process.stderr.write('usage: addresses.mjs set URL AUTHOR | check\n')
  process.exitCode = 2
}
