import type { NetConnectOpts } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoalescedTask } from '../coalesced_task.ts'
import { relayToken } from '../relay/address.ts'
import { RelayClient, type RelayListener } from '../relay/relay_client.ts'
import { warn } from '../warning.ts'
import type { SyncLoop } from './sync_loop.ts'

/** The most ms that a relay is not read after a pass. */
const LONGEST_REST = 1000

/** Has a pass made whenever a relay hints at a change, and knows if quiet sources may be looked at seldom meanwhile. */
export class Relayed implements RelayListener {
  readonly #loops: readonly SyncLoop[]
  readonly #relay: RelayClient
  readonly #passes = new CoalescedTask(() => this.#refresh())
  #gaps = 0

  constructor(address: NetConnectOpts, loops: readonly SyncLoop[]) {
    this.#loops = loops
    this.#relay = new RelayClient(address, relayToken(), this)
  }

  gap(): void {
    this.#trust(false)
    const gap = ++this.#gaps
    void this.#passes.run().then(() => {
      if (gap === this.#gaps) this.#trust(true)
    })
  }

  async hints(): Promise<void> {
    const began = performance.now()
    await this.#passes.run()
    // Half of the time is left to the server, as between passes.
    await sleep(Math.min(performance.now() - began, LONGEST_REST), undefined, { ref: false })
  }

  lost({ message }: Error): void {
    this.#trust(false)
    this.#gaps++
    warn('INOTIFY_BRIDGE_RELAY', message, 'Until there is a relay, sources are looked at as without one.')
    for (const loop of this.#loops) loop.disturb()
  }

  close(): void {
    this.#relay.close()
  }

  /** @param isTrusted whether a pass has been made since hints were missing last */
  #trust(isTrusted: boolean): void {
    for (const loop of this.#loops) loop.isRelayed = isTrusted
  }

  /** The failure of a pass is told by the loop. */
  async #refresh(): Promise<void> {
    await Promise.allSettled(this.#loops.map((loop) => loop.refresh()))
  }
}
