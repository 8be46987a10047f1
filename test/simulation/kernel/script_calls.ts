import type { Step } from '../../scripts/parse.ts'
import type { Word } from '../../scripts/words.ts'
import type { Call, FileOperations } from './file_operations.ts'
import { type FileTree, Refused } from './file_tree.ts'

/** Returns the reason why a script's step is not played on the simulated kernel, or undefined. */
export function obstacleOf({ operation, given: { flags, words } }: Step): string | undefined {
  const name = operation.usage.split(' ')[0] as string
  if (['whiteout', 'tmpfile', 'open', 'close'].includes(name)) return name
  if (name === 'ln' && !flags.has('-s')) return 'hard links'
  if (words.some(({ text, quoted }) => !quoted && text.startsWith('@'))) return 'descriptors'
  return words.some(({ text }) => /\p{Surrogate}|\/$/u.test(text)) ? 'a name' : undefined
}

/** The system calls that a step of a script makes, at the simulated kernel. What is done in no certain order is done by name. */
export function* scriptCalls(
  { operation, given: { flags, words } }: Step,
  pathOf: (word: Word) => string,
  files: FileOperations,
  tree: FileTree,
): Call {
  const [first, second] = words as [Word, Word]
  const paths = () => words.map(pathOf)
  switch (operation.usage.split(' ')[0]) {
    case 'write':
      return yield* second?.text === '' ? files.create(pathOf(first)) : files.write(pathOf(first))
    case 'append':
      return yield* files.append(pathOf(first))
    case 'truncate':
      return yield* files.truncate(pathOf(first))
    case 'touch':
      for (const path of paths()) yield* exists(tree, path) ? files.attrib(path) : files.create(path)
      return
    case 'utimes':
    case 'chmod':
    case 'chown':
      for (const word of words.slice(1)) yield* files.attrib(pathOf(word))
      return
    case 'mkdir':
      for (const path of paths())
        yield* flags.has('-p') ? makeAll(path, files, tree) : files.make(path, 'directory')
      return
    case 'mkfifo':
      for (const path of paths()) yield* files.make(path, 'other')
      return
    case 'rmdir':
    case 'rm':
      for (const path of paths()) yield* flags.has('-r') ? removeAll(path, files, tree) : files.remove(path)
      return
    case 'mv':
      return yield* files.rename(pathOf(first), pathOf(second))
    case 'exchange':
      return yield* files.exchange(pathOf(first), pathOf(second))
    case 'ln':
      return yield* files.make(pathOf(second), 'symlink', first.text)
    case 'cp':
      return yield* copy(pathOf(first), pathOf(second), flags.has('-r'), files, tree)
  }
}

function exists(tree: FileTree, path: string): boolean {
  try {
    return tree.place(path).inode !== undefined
  } catch (error) {
    if (error instanceof Refused) return false
    throw error
  }
}

function* makeAll(path: string, files: FileOperations, tree: FileTree): Call {
  if (path === '' || exists(tree, path)) return
  yield* makeAll(path.slice(0, path.lastIndexOf('/')), files, tree)
  yield* files.make(path, 'directory')
}

export function* removeAll(path: string, files: FileOperations, tree: FileTree): Call {
  const { inode } = tree.place(path)
  for (const name of [...(inode?.children.keys() ?? [])].sort())
    yield* removeAll(`${path}/${name}`, files, tree)
  yield* files.remove(path)
}

function* copy(from: string, to: string, recursive: boolean, files: FileOperations, tree: FileTree): Call {
  const inode = tree.at(from, !recursive)
  if (inode.kind === 'symlink') yield* files.make(to, 'symlink', inode.target)
  else if (!inode.isDirectory) yield* inode.size === 0 ? files.create(to) : files.write(to)
  else {
    yield* files.make(to, 'directory')
    const names = [...inode.children.keys()].sort()
    for (const name of names) yield* copy(`${from}/${name}`, `${to}/${name}`, recursive, files, tree)
  }
}
