// node calls_child.mjs DIRECTORY: waits for a change without keeping the process alive, which therefore ends.
import { join } from 'node:path'

/** @type {typeof import('../../src/mounts/syscalls/syscall_thread.ts')} */
const { SyscallThread, O_PATH } = await import(
  join(import.meta.dirname, '../../out/mounts/syscalls/syscall_thread.js')
)

const calls = new SyscallThread()
const { fd } = await calls.open(process.argv[2] ?? '', O_PATH)
const key = await calls.stat({ fd, name: '' })
const pace = { soon: 10, interval: 10, limit: 3_600_000 }
void calls
  .awaitChange([{ fd, name: '', revalidate: false, key }], pace, false)
  .then(() => console.log('changed'))
