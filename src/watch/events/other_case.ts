/** The entry that an event may mean by a name that no entry has: one that has it in another case. */
export function otherCase(entries: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const lower = name.toLowerCase()
  for (const each of entries.keys())
    if (each.length === name.length && each.toLowerCase() === lower) return each
  return undefined
}
