// Programs that nobody has changed: what each watches, how that is changed, and what tells that it has noticed. No part of vitest is here, as the soak plays some
// of them, too.
import { Resolver } from 'node:dns/promises'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAMS } from '../../examples/dev-servers/programs.mjs'
import { atomicWrite } from '../../examples/kubelet.mjs'
import { isThere, textOf } from '../../examples/stage.mjs'
import { IN_CLOSE_WRITE, IN_MODIFY, IN_MOVED_TO } from '../../src/inotify/constants.ts'
import { pollsForever } from '../integration/programs.ts'
import { compile } from '../support/compile.ts'
import { byLines, byText, type Consumer, type Place, replace } from './consumer.ts'

/** chokidar has its throttle for 50 ms. */
const THROTTLE = 100

const packages = join(import.meta.dirname, '../../examples/node_modules')
const installed = (program: string) => (isThere(program) ? '' : `needs ${program}`)

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')
/** Lines of the program's own. */
const printed = (output: string) => linesOf(output).filter((line) => !line.startsWith('inotify-bridge run: '))
const each = (n: number) => Array.from({ length: n }, (_, i) => `${i + 1}`)
const last = (n: number) => [`${n}`]
const events = (replaced: string[], appended: string[]) => (n: number) =>
  each(n).flatMap((version) => (Number(version) % 2 === 0 ? appended : replaced))

const node = (script: string, directory: string) => [
  ...[process.execPath, '--input-type=module', '-e', script],
  directory,
]

/** A program of examples/dev-servers. */
function developing(name: string): Consumer {
  const { bin, file, text, files, args, built } = PROGRAMS.find((program) => program.name === name) ?? {}
  if (bin === undefined || file === undefined || text === undefined) throw new Error(`no program ${name}`)
  const placed = ({ front, out, port }: Place) => ({ project: front, out, port })
  return {
    name,
    lacks: existsSync(join(packages, bin)) ? '' : 'needs npm ci --prefix examples',
    argv: (place) => [process.execPath, join(packages, bin), ...(args?.(placed(place)) ?? [])],
    files,
    change: byText(file, text),
    noticed: async (place, output) => {
      // The file that the program writes may not be there yet.
      const text = await Promise.resolve()
        .then(() => built?.(placed(place), output))
        .catch(String)
      return [/version = (\d+)/.exec(text ?? '')?.[1] ?? '']
    },
    expected: last,
    watches: file,
    restsFor: THROTTLE,
  }
}

/** It watches the file itself, and has to find the next one by its name. */
const entr = {
  lacks: installed('entr'),
  argv: ({ front }: Place) => ['entr', '-np', 'tail', '-n1', join(front, 'lines')],
  input: ({ front }: Place) => `${join(front, 'lines')}\n`,
  noticed: (_: Place, output: string) => printed(output),
  expected: each,
  watches: 'lines',
  // entr disregards changes while the command runs, and for 50 ms after it.
  listens: pollsForever,
}

export const CONSUMERS: readonly Consumer[] = [
  {
    name: 'a static C program',
    lacks: '',
    argv: ({ front }) => [compile('reader', ['-static']), front],
    change: byLines,
    // Watch, mask, cookie, name.
    noticed: (_, output) => [...output.matchAll(/^1 (\d+) /gm)].map(([, mask = '']) => mask),
    expected: events([`${IN_MOVED_TO}`], [`${IN_MODIFY}`, `${IN_CLOSE_WRITE}`]),
    watches: '',
  },
  {
    name: "Node's fs.watch",
    lacks: '',
    argv: ({ front }) =>
      node(
        `import { watch } from 'node:fs'
         for (const path of process.argv.slice(1)) watch(path, (type, name) => console.log(type, name))`,
        front,
      ),
    change: byLines,
    noticed: (_, output) => linesOf(output).filter((line) => line.endsWith(' lines')),
    expected: events(['rename lines'], ['change lines']),
    watches: '',
  },
  {
    // As one that reads what has the name as soon as it hears that the file has gone.
    name: "Node's fs.watch of a ConfigMap's key",
    lacks: '',
    argv: ({ front }) =>
      node(
        `import { readFileSync, watch } from 'node:fs'
         const again = (type) => {
           if (type !== 'rename') return
           const text = readFileSync(process.argv[1], 'utf8')
           watcher.close()
           watcher = watch(process.argv[1], again)
           console.log(text)
         }
         let watcher = watch(process.argv[1], again)`,
        join(front, 'lines'),
      ),
    change: ({ back }, n) => atomicWrite(back, { lines: `${n}\n` }),
    noticed: (_, output) => printed(output),
    expected: each,
    watches: 'lines',
  },
  {
    name: 'chokidar',
    lacks: '',
    argv: ({ front }) =>
      node(
        `import { readFileSync } from 'node:fs'
         import { watch } from '${import.meta.resolve('chokidar')}'
         const [, directory] = process.argv
         const say = () => console.log(readFileSync(directory + '/lines', 'utf8'))
         watch(directory, { ignoreInitial: true }).on('all', say).on('ready', say)`,
        front,
      ),
    change: byLines,
    noticed: (_, output) => printed(output).slice(-1),
    expected: last,
    watches: 'lines',
    restsFor: THROTTLE,
  },
  { ...entr, name: 'entr', change: byLines },
  {
    ...entr,
    name: "entr on a ConfigMap's key",
    change: ({ back }, n) => atomicWrite(back, { lines: `${n}\n` }),
  },
  {
    name: 'incrond',
    lacks: installed('incrond'),
    argv: ({ front, out }) => {
      const at = (name: string) => join(out, name)
      for (const name of ['tables', 'users']) mkdirSync(at(name))
      const configuration = {
        ...{ system_table_dir: at('tables'), user_table_dir: at('users'), lockfile_dir: out },
        ...{ allowed_users: at('allow'), denied_users: at('deny') },
      }
      const lines = Object.entries(configuration).map(([name, value]) => `${name} = ${value}\n`)
      writeFileSync(at('configuration'), lines.join(''))
      const command = `tail -n1 $@/$# >>${at('log')}`
      writeFileSync(at('tables/table'), `${front} IN_MOVED_TO,IN_CLOSE_WRITE ${command}\n`)
      return ['incrond', '-n', '-f', at('configuration')]
    },
    change: byLines,
    noticed: ({ out }) =>
      existsSync(join(out, 'log')) ? linesOf(readFileSync(join(out, 'log'), 'utf8')) : [],
    expected: each,
    watches: '',
  },
  {
    name: "Prometheus' file_sd",
    lacks: installed('prometheus'),
    argv: ({ front, out, port }) => {
      const configuration = join(out, 'prometheus.yml')
      const files = [{ files: [join(front, 'targets.json')], refresh_interval: '1h' }]
      const yaml = { scrape_configs: [{ job_name: 'job', file_sd_configs: files }] }
      writeFileSync(configuration, JSON.stringify(yaml))
      return [
        ...['prometheus', `--config.file=${configuration}`, `--storage.tsdb.path=${join(out, 'data')}`],
        `--web.listen-address=127.0.0.1:${port}`,
      ]
    },
    // Its metric has the time of the file that it has read, in whole seconds. Its list of targets has it 5 s later.
    change: (place, n) => replace(place, 'targets.json', JSON.stringify([{ targets: [`host-${n}`] }]), n),
    noticed: async ({ port }) => {
      const metrics = await textOf(`http://127.0.0.1:${port}/metrics`)
      return [/^prometheus_sd_file_mtime_seconds\{.*\} (.*)$/m.exec(metrics)?.[1] ?? '']
    },
    expected: last,
    watches: '',
  },
  {
    name: 'dnsmasq --hostsdir',
    lacks: installed('dnsmasq'),
    argv: ({ front, port }) => [
      ...['dnsmasq', '--no-daemon', '--conf-file=/dev/null', '--no-hosts', '--no-resolv'],
      ...['--listen-address=127.0.0.1', '--bind-interfaces', `--port=${port}`, `--hostsdir=${front}`],
    ],
    change: byText('hosts', (n) => `10.0.${n >> 8}.${n & 255} name\n`),
    noticed: async ({ port }) => {
      const resolver = new Resolver({ timeout: 1000, tries: 1 })
      resolver.setServers([`127.0.0.1:${port}`])
      const addresses = await resolver.resolve4('name').catch(() => [])
      return addresses.map((address) => {
        const [, , high, low] = address.split('.').map(Number)
        return `${Number(high) * 256 + Number(low)}`
      })
    },
    expected: last,
    watches: '',
  },
  {
    name: 'tail -F',
    lacks: '',
    argv: ({ front }) => ['tail', '-s', '0.05', '-F', join(front, 'lines')],
    change: byLines,
    noticed: (_, output) => printed(output).filter((line) => !line.startsWith('tail: ')),
    expected: (n) => ['0', ...each(n)],
    watches: undefined,
    remembered: 0,
  },
  developing('vite'),
  developing('tsc'),
]
