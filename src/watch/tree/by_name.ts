const NONE: ReadonlyMap<string, never> = new Map<string, never>()

/** A value for each of some names in directories: a Map of Maps, none of which is empty. */
export class ByName<Directory, T> extends Map<Directory, Map<string, T>> {
  at(directory: Directory, name: string): T | undefined {
    return this.get(directory)?.get(name)
  }

  in(directory: Directory): ReadonlyMap<string, T> {
    return this.get(directory) ?? NONE
  }

  put(directory: Directory, name: string, value: T): void {
    const names = this.get(directory)
    if (names === undefined) this.set(directory, new Map([[name, value]]))
    else names.set(name, value)
  }

  /** Deletes a name, and returns the value that it had. */
  take(directory: Directory, name: string): T | undefined {
    const names = this.get(directory)
    const value = names?.get(name)
    names?.delete(name)
    if (names?.size === 0) this.delete(directory)
    return value
  }

  /** Deletes all names of directories. */
  forget(isForgotten: (directory: Directory) => boolean): void {
    for (const directory of this.keys()) if (isForgotten(directory)) this.delete(directory)
  }
}
