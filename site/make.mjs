// node site/make.mjs pages DIRECTORY | site DIRECTORY: the API as the shipped declarations and their docstrings have it, by TypeDoc: as the pages docs/api.md and
// docs/api/*.md, one for each entry point; or, with all other pages, as a site that can be searched.
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Application, OptionDefaults } from 'typedoc'

const root = join(import.meta.dirname, '..')

/** The entry points that have names, in the order of package.json, each with its declarations. `inotify-bridge` itself has no names of its own, and `register` none at all. */
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const ENTRY_POINTS = Object.entries(exports).flatMap(([name, { types }]) =>
  ['.', './register'].includes(name) || types === undefined
    ? []
    : [
        {
          name: name.replace('.', 'inotify-bridge'),
          file: basename(types, '.d.ts'),
          types: join(root, types),
        },
      ],
)

/** @type {Partial<import('typedoc').TypeDocOptions>} */
const COMMON = {
  entryPoints: ENTRY_POINTS.map(({ types }) => types),
  tsconfig: join(root, 'site/tsconfig.json'),
  name: 'inotify-bridge',
  sort: ['source-order'],
  groupOrder: ['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables', 'References'],
  sortEntryPoints: false,
  disableSources: true,
  excludePrivate: true,
  excludeExternals: true,
  // Of these the types alone are there: what a function returns, and what a default export is.
  intentionallyNotExported: ['settingsOf', 'WholeFs', 'WholePromises'],
  hideGenerator: true,
  treatWarningsAsErrors: true,
  logLevel: 'Warn',
}

/** @param {Partial<import('typedoc').TypeDocOptions>} options */
async function generate(options) {
  const app = await Application.bootstrapWithPlugins({ ...COMMON, ...options })
  const project = await app.convert()
  if (project !== undefined) {
    app.validate(project)
    await app.generateOutputs(project)
  }
  if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1)
}

/** @param {string} directory */
async function makePages(directory) {
  const pages = join(directory, 'api')
  await generate({
    plugin: ['typedoc-plugin-markdown'],
    outputs: [{ name: 'markdown', path: pages }],
    readme: 'none',
    router: 'module',
    pageTitleTemplates: {
      // Escaped for Markdown: fs\_promises.
      module: ({ name }) => ENTRY_POINTS.find(({ file }) => file === name.replaceAll('\\', ''))?.name ?? name,
    },
    // Ids of their own, since GitHub gives a method and an interface of one name the same.
    anchorPrefix: 'api-',
    useHTMLAnchors: true,
    useCodeBlocks: true,
    hideBreadcrumbs: true,
    hidePageHeader: true,
    hideGroupHeadings: true,
    expandParameters: true,
    parametersFormat: 'table',
    interfacePropertiesFormat: 'table',
    classPropertiesFormat: 'table',
    typeAliasPropertiesFormat: 'table',
    typeDeclarationFormat: 'table',
  })
  rmSync(join(pages, 'README.md'))
  const rows = ENTRY_POINTS.map(({ name, file }) => {
    const page = readFileSync(join(pages, `${file}.md`), 'utf8')
    const names = [...page.matchAll(/^<a id="(.*)"><\/a>\s*\n## (.*)$/gm)]
    const contents = (/** @type {string} */ to) => names.map(([, id, text]) => `[${text}](${to}#${id})`)
    const titled = page.replace(/^# .*\n/, (title) => `${title}\n${contents('').join(' · ')}\n`)
    writeFileSync(join(pages, `${file}.md`), titled)
    return `| [\`${name}\`](api/${file}.md) | ${contents(`api/${file}.md`).join(' · ')} |`
  })
  const table = ['| entry point | names |', '|---|---|', ...rows].join('\n')
  writeFileSync(
    join(directory, 'api.md'),
    readFileSync(join(root, 'site/api.md'), 'utf8').replace('CONTENTS', () => table),
  )
}

/** The pages that the site has besides the API: these first, and no pages about the code or of figures. */
const FIRST = ['migrating', 'dev-servers', 'kubernetes', 'troubleshooting', 'command', 'semantics']
const LEFT_OUT = ['api', 'architecture', 'benchmarks']
const others = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => basename(name, '.md'))
  .filter((name) => !FIRST.includes(name) && !LEFT_OUT.includes(name))
const GUIDES = [...FIRST, ...others]

/** @param {string} directory */
async function makeSite(directory) {
  const copy = mkdtempSync(join(tmpdir(), 'inotify-bridge-site-'))
  try {
    cpSync(join(root, 'docs'), join(copy, 'docs'), { recursive: true })
    for (const page of ['README.md', ...GUIDES.map((name) => `docs/${name}.md`)])
      writeFileSync(
        join(copy, page),
        forSite(readFileSync(join(root, page), 'utf8'), page === 'README.md' ? '' : '../'),
      )
    await generate({
      outputs: [{ name: 'html', path: directory }],
      readme: join(copy, 'README.md'),
      projectDocuments: GUIDES.map((name) => join(copy, `docs/${name}.md`)),
      highlightLanguages: [...OptionDefaults.highlightLanguages, 'ini'],
      searchInComments: true,
      searchInDocuments: true,
      navigation: { includeGroups: false, includeCategories: false },
      // Links to pages that TypeDoc makes lead to no file yet.
      validation: { invalidPath: false },
      markdownItOptions: { html: true, linkify: false },
    })
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

/**
 * Returns a page as the site has it: named by its heading, without marks for the tests. Links to the API lead to the site's own pages; files that are not on the site are named without a link.
 * @param {string} text
 * @param {string} up from the page to the site's first
 */
function forSite(text, up) {
  const [, title = ''] = /^# (.*)$/m.exec(text) ?? []
  // The first page has the site's title above it.
  const body = (up === '' ? text.replace(/^# .*\n/, '') : text)
    .replaceAll(/^<!--.*-->\n/gm, '')
    // TypeDoc leaves code out of its contents.
    .replaceAll(/^#+ .*$/gm, (heading) => heading.replaceAll('`', ''))
    .replaceAll(/\]\((?:docs\/)?api\/(\w+)\.md(?:#[^)]*)?\)/g, `](${up}modules/$1.html)`)
    .replaceAll(/\]\((?:docs\/)?api\.md\)/g, `](${up}modules.html)`)
    .replaceAll(/\[([^\]]*)\]\(((?:docs\/)?[\w./-]+?)(?:#[^)]*)?\)/g, (link, name, to) =>
      to.endsWith('.html') || GUIDES.some((guide) => to.endsWith(`${guide}.md`)) || to.endsWith('.svg')
        ? link
        : name,
    )
  return `---\ntitle: '${title.replaceAll('`', '').replaceAll("'", "''")}'\n---\n${body}`
}

const [what, directory] = process.argv.slice(2)
if (directory === undefined) throw new Error('node site/make.mjs pages|site DIRECTORY')
await (what === 'site' ? makeSite(directory) : makePages(directory))
