import { escapeInvisible } from './errors.ts'

/**
 * A warning of this library: process.emitWarning(), whose default is a line on stderr, so it is escaped as the messages of errors are.
 *
 * @param code `INOTIFY_BRIDGE_...`, by which a program tells them apart
 * @param detail what comes of it, or what to do
 */
export function warn(code: string, message: string, detail?: string): void {
  process.emitWarning(escapeInvisible(message), {
    type: 'InotifyBridgeWarning',
    code,
    ...(detail !== undefined && { detail }),
  })
}
