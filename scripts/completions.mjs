// Makes the shells' completions of the commands and their options, dist/completions/, from the descriptions
// in out/. --help and the manual page are made from the same descriptions.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @typedef {{ short?: string, argument?: string, text: string }} Option */
/** @typedef {{ name: string, summary: string, options: Array<[name: string, option: Option]> }} Described */

const root = join(import.meta.dirname, '..')
const { COMMANDS } = await import(join(root, 'out/cli/commands.js'))

/** @type {Described[]} */
const commands = []
for (const [name, load] of COMMANDS) {
  const { summary, options } = await load()
  commands.push({ name, summary, options: Object.entries(options) })
}

const directory = join(root, 'dist/completions')
mkdirSync(directory, { recursive: true })
for (const [shell, script] of Object.entries({ bash: bash(), zsh: zsh(), fish: fish() }))
  writeFileSync(join(directory, shell), script)

function bash() {
  const cases = commands.map(
    ({ name, options }) => `    ${name}) words='${flagsOf(options).join(' ')} --help' ;;`,
  )
  return `_inotify_bridge() {
  local words=
  if [ "$COMP_CWORD" = 1 ]; then words='${commands.map(({ name }) => name).join(' ')} --help --version'
  elif [[ \${COMP_WORDS[COMP_CWORD]} = -* ]]; then case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _inotify_bridge inotify-bridge
`
}

function zsh() {
  const names = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`)
  const cases = commands.map(({ name, options }) => {
    const specs = options.flatMap(([each, option]) => {
      const text = `[${gist(option.text).replaceAll(/[[\]\\:]/g, '\\$&')}]`
      const value = option.argument === undefined ? '' : `:${option.argument.replaceAll(':', '\\:')}:_files`
      return flagsOf([[each, option]]).map((flag) => quoted(`*${flag}${text}${value}`))
    })
    return `    ${name}) _arguments ${[...specs, "'*:file:_files'"].join(' ')} ;;`
  })
  return `#compdef inotify-bridge
_inotify_bridge() {
  local -a commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] = _inotify-bridge ]]; then _inotify_bridge "$@"; else compdef _inotify_bridge inotify-bridge; fi
`
}

function fish() {
  const lines = commands.flatMap(({ name, summary, options }) => [
    `complete -c inotify-bridge -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...options.map(([each, { short, argument, text }]) =>
      [
        `complete -c inotify-bridge -n '__fish_seen_subcommand_from ${name}'`,
        ...(short === undefined ? [] : [`-s ${short}`]),
        `-l ${each} -d ${quoted(gist(text))}`,
        ...(argument === undefined ? [] : ['-r']),
      ].join(' '),
    ),
  ])
  return `${lines.join('\n')}\n`
}

/** `-e --event` @param {Described['options']} options @returns {string[]} */
function flagsOf(options) {
  return options.flatMap(([name, { short }]) => [...(short === undefined ? [] : [`-${short}`]), `--${name}`])
}

/** The beginning of a text, for a line. @param {string} text */
function gist(text) {
  const [first = ''] = text.split(/[;.:] |: /)
  return first
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}
