import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Channel } from './channel.ts'
import { type CacheMode, Daemon, type DaemonOptions, end, spawnBound } from './daemon.ts'
import { hostChanges } from './host_changes.ts'
import type { Boot, Obtained, Prepared } from './prepare.ts'
import { PROGRAMS } from './requirements.ts'

/** ms; a boot takes 4 s, and several times that on a busy machine. */
const BOOT_DEADLINE = 90_000

const CLI = join(import.meta.dirname, '../../dist/cli.js')

export interface MachineOptions {
  /** The cache mode of the share. The root directory has `auto`. */
  cache: CacheMode
  /** Serves the share with the Rust daemon. */
  rust?: boolean
  /** Adds a 9p device with the tag `nine`, for the same directory. */
  ninep?: boolean
  /** Starts the kernel that has NFS. */
  nfs?: boolean
  /** Makes the share's daemon log each request. */
  verbose?: boolean
  /** Starts a relay of the share, which the guest has at /dev/hvc0. */
  relay?: boolean
}

/** Returns the kernel and initramfs that have what the options need. */
export function bootOf({ boot, full, nfs }: Prepared, options: MachineOptions): Obtained<Boot> {
  if (options.nfs) return nfs
  return options.ninep ? full : boot
}

/** A running guest. */
export class Machine {
  readonly #directory: string
  readonly #share: string
  #qemu: ChildProcess | undefined
  #relay: ChildProcess | undefined
  #daemons: Daemon[] = []
  #channel: Channel | undefined
  #runs = 0
  #isLost = false

  private constructor(directory: string) {
    this.#directory = directory
    this.#share = join(directory, 'share')
  }

  static async boot(prepared: Prepared, options: MachineOptions): Promise<Machine> {
    const machine = new Machine(await mkdtemp(join(prepared.directory, `${options.cache}-`)))
    try {
      await machine.#boot(prepared, options)
      return machine
    } catch (error) {
      await machine.close()
      throw error
    }
  }

  /**
   * Runs `scenarios/NAME.mjs` in the guest, with a directory of its own on the share. The directory's name
   * has never been used: the guest may know stale things of an old name. Returns the scenario's report.
   *
   * @param deadline ms
   */
  async run<T>(scenario: string, parameters: object, deadline: number): Promise<T> {
    const run = `${scenario}-${++this.#runs}`
    const directory = join(this.#share, run)
    await mkdir(directory)
    await writeFile(`${directory}.parameters`, JSON.stringify(parameters))
    try {
      const code = await this.#within(deadline, `scenario ${scenario}`, this.#open().run(scenario, run))
      if (code !== 0) throw new Error(`scenario ${scenario}: exit code ${code}`)
      return JSON.parse(await readFile(`${directory}.result`, 'utf8'))
    } catch (error) {
      throw await this.#explain(error, `${directory}.output`)
    }
  }

  /** Returns if the guest can run no other scenario: it has ended, or hangs in the last one. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Ends the guest before its daemons: a guest whose file system is gone cannot even be switched off. */
  async close(): Promise<void> {
    for (const child of [this.#qemu, this.#relay]) if (child !== undefined) await end(child)
    this.#channel?.close()
    for (const daemon of this.#daemons) await daemon.close()
  }

  async #boot(prepared: Prepared, options: MachineOptions): Promise<void> {
    const { cache, rust = false, ninep = false, verbose = false, relay = false } = options
    const { got, missing } = bootOf(prepared, options)
    if (got === undefined) throw new Error(missing)
    const path = (name: string) => join(this.#directory, name)
    await mkdir(this.#share)
    await writeFile(
      join(this.#share, 'boot'),
      `${process.execPath}\n${join(import.meta.dirname, 'scenarios')}\n`,
    )

    const serve = async (
      name: string,
      source: string,
      how: Pick<DaemonOptions, 'cache' | 'rust' | 'verbose'>,
    ) => {
      const daemon = await Daemon.start({
        source,
        socket: path(`${name}.sock`),
        log: path(`${name}.log`),
        ...how,
      })
      this.#daemons.push(daemon)
      return daemon
    }
    await serve('host', '/', { cache: 'auto' })
    const daemon = await serve('share', this.#share, {
      cache,
      verbose,
      rust: rust ? prepared.rust.got : undefined,
    })
    this.#channel = await Channel.listen(path('channel.sock'), hostChanges(this.#share, daemon))

    const ready = this.#channel.ready()
    const command = qemuCommand(path, got)
    // QEMU itself serves the directory, with the rights of the host's writers.
    const nine = `local,path=${this.#share},mount_tag=nine,security_model=none`
    if (ninep) command.push('-virtfs', nine)
    if (relay) {
      const socket = path('relay.sock')
      this.#relay = spawnBound(
        [process.execPath, CLI, 'relay', '--listen', `unix:${socket}`, this.#share],
        path('relay.log'),
      )
      while (!existsSync(socket) && this.#relay.exitCode === null) await sleep(10)
      // reconnect: the relay does not wait for a guest that boots.
      command.push('-chardev', `socket,id=relay,path=${socket},reconnect=1`)
      command.push('-device', 'virtio-serial-pci', '-device', 'virtconsole,chardev=relay')
    }
    this.#qemu = spawnBound(command, path('qemu.log'))
    try {
      await this.#within(BOOT_DEADLINE, 'boot', ready)
    } catch (error) {
      throw await this.#explain(error)
    }
  }

  #open(): Channel {
    if (this.#channel === undefined) throw new Error('the guest is closed')
    return this.#channel
  }

  /** Resolves like `promise`. Rejects if the guest ends first, or after the deadline. */
  async #within<T>(deadline: number, what: string, promise: Promise<T>): Promise<T> {
    const over = new AbortController()
    const { signal } = over
    const late = sleep(deadline, undefined, { signal, ref: false }).then(() => {
      throw new Error(`${what}: not done after ${deadline} ms`)
    })
    const gone = (this.#qemu === undefined ? late : once(this.#qemu, 'exit', { signal })).then(([code]) => {
      throw new Error(`${what}: QEMU has ended, exit code ${code}`)
    })
    // These promises reject with an AbortError at the end.
    for (const each of [late, gone]) each.catch(() => {})
    try {
      return await Promise.race([promise, late, gone])
    } catch (error) {
      this.#isLost = true
      throw error
    } finally {
      over.abort()
    }
  }

  /**
   * Returns the error with the end of the output of guest and scenario. GUEST_LOGS names a place for all.
   */
  async #explain(error: unknown, output?: string): Promise<Error> {
    const logs = ['serial.log', 'qemu.log', 'relay.log'].map((name) => join(this.#directory, name))
    if (output !== undefined) logs.push(output)
    let text = error instanceof Error ? error.message : String(error)
    for (const log of logs.filter((path) => existsSync(path))) {
      const lines = (await readFile(log, 'utf8')).trimEnd().split('\n').slice(-30)
      text += `\n-- ${log.slice(this.#directory.length + 1)}\n${lines.join('\n')}`
      const keep = process.env.GUEST_LOGS
      if (keep === undefined || keep === '') continue
      await mkdir(keep, { recursive: true })
      const name = log.slice(this.#directory.lastIndexOf('/') + 1).replaceAll('/', '_')
      await copyFile(log, join(keep, name))
    }
    return new Error(text, { cause: error })
  }
}

/** No KVM, which most virtual machines lack: QEMU interprets (TCG). */
function qemuCommand(path: (name: string) => string, { image, initramfs }: Boot): string[] {
  const argv = [PROGRAMS.qemu.path]
  argv.push('-machine', 'q35,accel=tcg,memory-backend=mem', '-cpu', 'max', '-smp', '1', '-m', '512')
  // The daemons read requests from the guest's memory.
  argv.push('-object', 'memory-backend-memfd,id=mem,size=512M,share=on')
  argv.push('-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot')
  // no_timer_check: on a busy machine, the kernel would take its emulated timer for a broken one, and panic.
  argv.push('-kernel', image, '-initrd', initramfs, '-append', 'console=ttyS0 panic=-1 quiet no_timer_check')
  argv.push('-serial', `file:${path('serial.log')}`)
  argv.push('-chardev', `socket,id=channel,path=${path('channel.sock')}`, '-serial', 'chardev:channel')
  for (const tag of ['host', 'share']) {
    argv.push('-chardev', `socket,id=${tag},path=${path(`${tag}.sock`)}`)
    argv.push('-device', `vhost-user-fs-pci,chardev=${tag},tag=${tag}`)
  }
  return argv
}
