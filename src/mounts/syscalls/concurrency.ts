/** As many files as are copied at once: a turn to the thread and back takes longer than most calls. Each may hold 256 KiB. */
const AT_ONCE = 16

/** Runs for each item, some at once. Rejects when all that were begun have ended, for the reason of the first that failed. */
export async function atOnce<T>(
  items: readonly T[],
  run: (item: T) => Promise<void>,
  many = AT_ONCE,
): Promise<void> {
  for (let first = 0; first < items.length; first += many) {
    const ended = await Promise.allSettled(items.slice(first, first + many).map(run))
    const failed = ended.find((each) => each.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
}

/** The same with the items in two parts: leaves at once, directories, which hold a descriptor each, one after another. */
export async function leavesAtOnce<T extends { readonly kind: string }>(
  entries: ReadonlyMap<string, T>,
  run: (name: string, node: T) => Promise<void>,
): Promise<void> {
  const all = [...entries]
  await atOnce(
    all.filter(([, { kind }]) => kind !== 'directory'),
    ([name, node]) => run(name, node),
  )
  for (const [name, node] of all) if (node.kind === 'directory') await run(name, node)
}
