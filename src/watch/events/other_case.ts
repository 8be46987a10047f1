/** Returns the entry that has an event's name in another case, for a name that no entry has. */
export function otherCase(entries: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const lower = name.toLowerCase()
  for (const each of entries.keys())
    if (each.length === name.length && each.toLowerCase() === lower) return each
  return undefined
}
