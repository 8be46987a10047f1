/**
 * The addon's DigestCache (native/record/digest_cache.h): knows the digests of the last pass that the caller
 * took in.
 */
export class KnownDigests {
  #known = new Set<string>()
  #found = new Set<string>()

  begin(): void {
    this.#found = new Set()
  }

  find(digest: string): void {
    this.#found.add(digest)
  }

  knows(digest: string): boolean {
    return this.#known.has(digest)
  }

  commit(): void {
    this.#known = this.#found
    this.#found = new Set()
  }

  forget(): void {
    this.#known = new Set()
    this.begin()
  }
}
