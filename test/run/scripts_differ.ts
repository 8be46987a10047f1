// Lines of scripts that a reader under run hears of otherwise, from behind the mount, than a plain reader of the source.
// docs/run.md names these.
const OPEN = 'who has it open is not seen'
const NAMES = 'all names of a file change with it'
const DIFFER: Record<string, string> = {
  'a time that is set looks like a write; that of a directory like nothing': `
    attrib/directory-times:4 attrib/file-times:4 programs/rsync:5 programs/tar:5,9 write/mtime-put-back:6
    write/touch:5`,
  'a new file is told as one that was written, however it was made': `
    create/tmpfile:3,5 link/from-outside:4 link/into-another-directory:5 link/new-name:4 programs/dpkg:5`,
  'a place that nobody watches is the other end of the rename': `
    exchange/directory-with-outside:6,13 exchange/file-with-outside:5 exchange/with-outside:6,11
    file-root/renamed-away:4,6,8 file-root/saved-by-vim:4,6 file-root/directory-renamed:5,7
    move-in/and-out-again:5,6,10 move-in/and-renamed:5 move-in/and-written:5 move-in/deep:5 move-in/file:4
    move-in/over-an-empty-directory:5 move-in/tree:7 move-out/and-in-again:4,5
    move-out/and-in-under-another-name:5,6,11 move-out/and-written:5,6,7 move-out/below-what-stays:5,7
    move-out/file:4 move-out/old-name-taken:6,7,12 move-out/tree-and-in-again:5,6,11 move-out/tree:6,8,9,10
    root/ancestor-renamed:4,6,7,9,12 root/another-in-its-place:7,12 root/renamed-away:5,7,8,10,11,14
    write/moved-out-but-open:5`,
  [OPEN]: `
    delete/held-open-and-there-again:6,12 delete/held-open:6,8 root/removed-and-made-anew-at-once:6,17
    logs/copy-and-truncate:9 write/opened-and-closed:5 write/renamed-but-open:7,9,11,12
    write/unlinked-but-open:6,8,9`,
  [NAMES]: `
    link/chmod:5 link/into-another-directory:9 link/rename-one:5 link/written-in-another-directory:6,10
    link/written-outside:7 link/written-through-one-name:5`,
  'either half of an exchange may be the first': `
    exchange/at-two-depths:6 exchange/directory-and-link:6`,
  'a directory that another was renamed over has no IN_ATTRIB': `
    directory/over-an-empty-one:5`,
  'a whiteout is a new entry': `
    rename/whiteout:5`,
}

const reasons = new Map(
  Object.entries(DIFFER).flatMap(([reason, scripts]) =>
    scripts
      .trim()
      .split(/\s+/)
      .flatMap((script) => {
        const [file = '', lines = ''] = script.split(':')
        return lines.split(',').map((line) => [`${file}:${line}`, reason] as const)
      }),
  ),
)

/** Why a line is told otherwise; undefined if it is told as the kernel does. */
export const reasonFor = (file: string, line: number) => reasons.get(`${file}:${line}`)

/** Also where it is done through the mount, and a look sees it. */
export const isThrough = (reason: string | undefined) => reason === OPEN || reason === NAMES
