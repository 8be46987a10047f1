import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fetched } from '../../scripts/fetched.mjs'

/** A package manager that installs where no script may run, and how a program of Node's is started there. */
export interface Manager {
  program: () => string
  add: (tarball: string) => string[]
  install: string[]
  /** The field of package.json in which packages are replaced. */
  overrides: (packages: Record<string, string>) => object
  node?: string[]
  files?: Record<string, string>
}

const yarn = () => join(fetched('@yarnpkg/cli-dist@4.18.1'), 'bin/yarn.js')
const yarnrc = (linker: string) => ({
  // Without a lock file of its own it asks a directory above whether it is a part of that.
  'yarn.lock': '',
  '.yarnrc.yml': `nodeLinker: ${linker}\nenableScripts: false\nenableTelemetry: false\nenableGlobalCache: false\n`,
})
const resolutions = (packages: Record<string, string>) => ({ resolutions: packages })
const yarn4 = {
  program: yarn,
  add: (tarball: string) => ['add', `inotify-bridge@file:${tarball}`],
  install: ['install'],
  overrides: resolutions,
}

export const MANAGERS: Record<string, Manager> = {
  pnpm: {
    program: () => join(fetched('pnpm@10.34.8'), 'bin/pnpm.cjs'),
    add: (tarball) => ['add', '--ignore-scripts', tarball],
    install: ['install', '--ignore-scripts'],
    overrides: (packages) => ({ pnpm: { overrides: packages } }),
  },
  'yarn 1': {
    program: () => join(fetched('yarn@1.22.22'), 'bin/yarn.js'),
    add: (tarball) => ['add', '--ignore-scripts', '--no-progress', `file:${tarball}`],
    install: ['install', '--ignore-scripts', '--no-progress'],
    overrides: resolutions,
  },
  'yarn 4, node_modules': { ...yarn4, files: yarnrc('node-modules') },
  'yarn 4, PnP': { ...yarn4, node: ['node'], files: yarnrc('pnp') },
}

// As npm has it, which yarn 4 does not ask. Whoever has a mirror may have it without TLS, or with certificates of his own.
function registry(): Record<string, string> {
  const asked = (key: string) => execFileSync('npm', ['config', 'get', key], { encoding: 'utf8' }).trim()
  const [url, authorities] = [asked('registry'), asked('cafile')]
  return {
    YARN_NPM_REGISTRY_SERVER: url,
    YARN_UNSAFE_HTTP_WHITELIST: new URL(url).hostname,
    ...(['', 'null', 'undefined'].includes(authorities) ? {} : { YARN_HTTPS_CA_FILE_PATH: authorities }),
  }
}

/** Runs Node there. Yarn 4 says on its standard output why it fails. */
export function runIn(cwd: string, env: NodeJS.ProcessEnv) {
  return (args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: 'utf8' })
    if (status !== 0) throw new Error(`${args.join(' ')}: ${status}\n${stdout}${stderr}`)
    return stdout
  }
}

/** The environment without what the npm that has started this says, and with the registry for yarn 4. */
export function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^npm_/.test(name))
  return { ...Object.fromEntries(own), ...registry(), COREPACK_ENABLE_STRICT: '0' }
}
