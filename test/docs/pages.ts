import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

const markdownIn = (folder: string) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))

const examples = readdirSync(join(ROOT, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .flatMap(({ name }) => markdownIn(`examples/${name}`))

/** The pages for users and contributors, by their paths below the repository's root. */
export const PAGES = [
  ...markdownIn('.'),
  ...markdownIn('docs'),
  ...markdownIn('docs/api'),
  ...markdownIn('test'),
  ...examples,
].sort()

export function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

/** A fenced block, and the comments right before it: `<!-- not run: why -->`. */
export interface Block {
  page: string
  /** The line of the fence, from 1. */
  line: number
  language: string
  text: string
  marks: Mark[]
}

export interface Mark {
  /**
   * 'not run': the block cannot be run. 'goes on': only a signal ends the command, and `reason` names the
   * directory that changes meanwhile.
   */
  kind: 'not run' | 'goes on'
  /** The text that selects command lines of the block. */
  where: string | undefined
  reason: string
}

const MARK = /^<!-- (not run|goes on)(?: where `(.+)`)?: (.+) -->$/

/** Returns the fenced blocks of a page. */
export function blocksOf(page: string): Block[] {
  const lines = textOf(page).split('\n')
  const blocks: Block[] = []
  let marks: Mark[] = []
  let open: Block | undefined
  for (const [i, line] of lines.entries()) {
    const fence = /^ *```(.*)$/.exec(line)
    if (open !== undefined) {
      if (fence === null) open.text += `${line}\n`
      else open = undefined
    } else if (fence !== null) {
      open = { page, line: i + 1, language: fence[1] as string, text: '', marks }
      blocks.push(open)
      marks = []
    } else {
      const [, kind, where, reason] = MARK.exec(line) ?? []
      if (kind === undefined || reason === undefined) marks = []
      else marks.push({ kind: kind as Mark['kind'], where, reason })
    }
  }
  if (open !== undefined) throw new Error(`${page}:${open.line}: this block has no end`)
  return blocks
}

/** Returns a page with empty lines in place of its fenced blocks. */
export function proseOf(page: string): string {
  return textOf(page).replace(/^ *```[\s\S]*?^ *```$/gm, (block) => block.replace(/[^\n]/g, ''))
}

/** Returns the anchors of a page: GitHub's of its headings, and its own. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of proseOf(page).matchAll(/^#+ (.+)$/gm)) {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`
    anchors.add(anchor)
  }
  for (const [, id = ''] of proseOf(page).matchAll(/<a id="([^"]+)">/g)) anchors.add(id)
  return anchors
}
