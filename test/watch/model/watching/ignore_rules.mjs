// One rule in each form of `ignore`, and once more as a plain function for the comparison.

/** @typedef {import('../../../../src/index.ts').Kind} Kind */
/** @typedef {import('../settings.ts').Settings['ignore']} Form */

/**
 * @param {Form} form
 * @param {string} root
 * @returns {Array<string | RegExp> | ((path: string, kind: Kind) => boolean)}
 */
export function ignoreOption(form, root) {
  if (form === 'prefix') return [`${root}/c`]
  if (form === 'pattern') return [/(^|\/)b$/]
  return form === 'function' ? (path, kind) => isIgnored(form, root, path, kind) : []
}

/**
 * Returns if the rule ignores this entry, without regard to the directories above.
 *
 * @param {Form} form
 * @param {string} root
 * @param {string} path
 * @param {Kind} kind
 */
export function isIgnored(form, root, path, kind) {
  if (form === 'prefix') return path === `${root}/c`
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (form === 'pattern') return name === 'b'
  return form === 'function' && kind === 'directory' && name === 'x y'
}
