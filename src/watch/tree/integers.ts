/** Integers of 32 bits by index, from 0 on; where none was set there is a 0. */
export class Integers {
  #all = new Int32Array(16)
  /** One more than the highest index that was set. */
  length = 0

  at(index: number): number {
    return this.#all[index] ?? 0
  }

  /** Grows by much where it must: unwritten pages take no memory. */
  set(index: number, value: number): void {
    if (index >= this.#all.length) {
      const longer = new Int32Array(Math.max(4096, 4 * index))
      longer.set(this.#all)
      this.#all = longer
    }
    if (index >= this.length) this.length = index + 1
    this.#all[index] = value
  }

  /** Gives the memory back that was reserved for more. */
  seal(): void {
    this.#all = this.#all.slice(0, this.length)
  }
}
