import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import { freePort, textOf, until } from '../stage.mjs'
import { installed, moduleText, Rebuilds, versionIn } from './rebuilds.mjs'

/** Vite's dev server, and a browser that has a page of it open. @type {import('./rebuilds.mjs').Program} */
export const vite = {
  name: 'vite',
  how: 'a plugin in vite.config.mjs',
  file: 'module.js',
  text: (version) => `${moduleText(version)}import.meta.hot.accept()\n`,
  files: {
    'index.html': '<script type="module" src="/main.js"></script>\n',
    'main.js': `import { version } from './module.js'\ndocument.body.append(version)\n`,
  },
  async run({ project, out, isOurs, start }) {
    const port = await freePort()
    const config = join(import.meta.dirname, 'vite.config.mjs')
    const place = ['--host', '127.0.0.1', '--port', `${port}`, '--strictPort', '--config', config]
    const environment = { OUT: out, WATCHED_BY: isOurs ? 'inotify-bridge' : 'vite' }
    const server = start(process.execPath, [installed('vite/bin/vite.js'), project, ...place], environment)
    await until('vite listens', () => {
      if (server.child.exitCode !== null) throw new Error(server.output)
      return server.output.includes(`${port}`)
    })
    const url = `http://127.0.0.1:${port}`
    const rebuilds = new Rebuilds()
    const load = async (/** @type {string} */ path) => rebuilds.note(versionIn(await textOf(url + path)))
    // As a browser does, and the client that Vite puts into the page.
    for (const path of ['/', '/main.js', '/module.js']) await load(path)
    await listen(port, ({ type, updates }) => {
      if (type === 'update') for (const { path, timestamp } of updates) void load(`${path}?t=${timestamp}`)
    })
    return rebuilds
  },
}

/**
 * The browser's socket (RFC 6455), as far as Vite's messages need it: they are unmasked texts, each in one frame.
 *
 * @typedef {{ type: string, updates: { path: string, timestamp: number }[] }} Message
 * @param {number} port
 * @param {(message: Message) => void} onMessage
 */
async function listen(port, onMessage) {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16).toString('base64'),
    'sec-websocket-protocol': 'vite-hmr',
  }
  const asked = request({ host: '127.0.0.1', port, headers }).end()
  const [, socket, first] = await once(asked, 'upgrade')
  let rest = Buffer.alloc(0)
  const take = (/** @type {Buffer} */ data) => {
    rest = Buffer.concat([rest, data])
    for (;;) {
      const short = (rest[1] ?? 0) & 127
      const begin = short === 126 ? 4 : 2
      if (rest.length < begin) return
      const end = begin + (short === 126 ? rest.readUInt16BE(2) : short)
      if (rest.length < end) return
      onMessage(JSON.parse(rest.toString('utf8', begin, end)))
      rest = rest.subarray(end)
    }
  }
  // The server is killed at the end.
  socket.on('error', () => {})
  socket.on('data', take)
  take(first)
}
