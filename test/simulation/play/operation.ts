import type { Call, FileOperations } from '../kernel/file_operations.ts'
import type { FileTree } from '../kernel/file_tree.ts'

/** One operation of the writer. Paths are absolute. */
export type Operation =
  | { type: 'create' | 'write' | 'append' | 'mkdir' | 'remove' | 'chmod' | 'touch'; path: string }
  | { type: 'rename' | 'exchange'; path: string; other: string }
  // 'swap': makes another link and renames it over this one.
  | { type: 'symlink' | 'swap'; path: string; target: string }

/** Yields the system calls of an operation. */
export function* callsOf(operation: Operation, files: FileOperations, tree: FileTree): Call {
  const { type, path } = operation
  switch (type) {
    case 'create':
      return yield* files.create(path)
    case 'write':
      return yield* files.write(path)
    case 'append':
      return yield* files.append(path)
    case 'mkdir':
      return yield* files.make(path, 'directory')
    case 'remove':
      return yield* removeAll(path, files, tree)
    case 'chmod':
      return yield* files.attrib(path, 0o044)
    case 'touch':
      return yield* files.attrib(path)
    case 'rename':
      return yield* files.rename(path, operation.other)
    case 'exchange':
      return yield* files.exchange(path, operation.other)
    case 'symlink':
      return yield* files.make(path, 'symlink', operation.target)
    case 'swap':
      yield* files.make(`${path}~`, 'symlink', operation.target)
      yield
      return yield* files.rename(`${path}~`, path)
  }
}

function* removeAll(path: string, files: FileOperations, tree: FileTree): Call {
  const { inode } = tree.place(path)
  for (const name of [...(inode?.children.keys() ?? [])]) {
    yield* removeAll(`${path}/${name}`, files, tree)
    yield
  }
  yield* files.remove(path)
}

/** 'rename /t/a/f /t/b/f'. */
export function spoken(operation: Operation): string {
  const { type, path } = operation
  if ('other' in operation) return `${type} ${path} ${operation.other}`
  return 'target' in operation ? `${type} ${path} -> ${operation.target}` : `${type} ${path}`
}

/** Returns the operation that {@link spoken} has put into these words. */
export function operationOf(words: string): Operation {
  const [type = '', path = '', ...rest] = words.split(' ')
  if ((type === 'rename' || type === 'exchange') && rest[0]) return { type, path, other: rest[0] }
  if ((type === 'symlink' || type === 'swap') && rest[1]) return { type, path, target: rest[1] }
  for (const plain of ['create', 'write', 'append', 'mkdir', 'remove', 'chmod', 'touch'] as const)
    if (type === plain && path !== '') return { type: plain, path }
  throw new Error(`no operation: '${words}'`)
}
