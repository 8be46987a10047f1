import type { NetConnectOpts } from 'node:net'
import { invalidArgument } from '../errors.ts'

const FORMS = "'unix:PATH', or 'tcp:HOST:PORT' with a port from 1 to 65535"

/** Returns the socket of `unix:PATH` or `tcp:HOST:PORT`. Throws TypeError that begins with the name. */
export function relayAddress(address: unknown, name: string): NetConnectOpts {
  if (typeof address === 'string' && !address.includes('\0')) {
    if (address.startsWith('unix:') && address.length > 5) return { path: address.slice(5) }
    const [, bracketed, plain, digits] = /^tcp:(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address) ?? []
    const port = Number(digits)
    const host = bracketed ?? plain
    if (host !== undefined && port >= 1 && port <= 65535) return { host, port }
  }
  throw invalidArgument(name, address, FORMS)
}

/** The environment's INOTIFY_BRIDGE_RELAY_TOKEN; '' for none. */
export const relayToken = () => process.env.INOTIFY_BRIDGE_RELAY_TOKEN ?? ''
