// The subjects of a question that asks for a curve: each watcher at each size.

/** @typedef {{ watcher: string, size: number }} Point */

export class Series {
  /** @type {ReadonlyMap<string, Point>} */
  #points

  /**
   * @param {Point[]} points
   * @param {string} [unit]  Behind the size, in a subject's name.
   */
  constructor(points, unit = '') {
    this.#points = new Map(points.map((point) => [`${point.watcher}, ${point.size}${unit}`, point]))
  }

  get subjects() {
    return [...this.#points.keys()]
  }

  /** @param {string} subject */
  at(subject) {
    const point = this.#points.get(subject)
    if (point === undefined) throw new Error(`no subject is called ${subject}`)
    return point
  }
}
