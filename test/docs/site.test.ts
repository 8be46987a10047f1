// The site that `npm run docs` serves: every link leads somewhere, its search finds names and words, and it is dark where the reader's system is.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CHROMIUM, Page } from './browser.ts'
import { ROOT } from './pages.ts'

const served = spawn(process.execPath, [join(ROOT, 'site/serve.mjs')], {
  env: { ...process.env, PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
})
let url = ''

beforeAll(async () => {
  const ended = once(served, 'exit').then(([code]) =>
    Promise.reject(new Error(`site/serve.mjs: exit code ${code}`)),
  )
  ;[url] = await Promise.race([once(createInterface(served.stdout), 'line'), ended])
})
afterAll(() => void served.kill())

test('its links lead to what it has', () => {
  const site = join(ROOT, 'site/out')
  const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.html'),
  )
  expect(pages.length).toBeGreaterThan(50)
  const dead = pages.flatMap((page) =>
    [...readFileSync(join(site, page), 'utf8').matchAll(/ (?:href|src)="([^"#:]+)(?:#[^"]*)?"/g)]
      .map(([, to = '']) => to)
      .filter((to) => !existsSync(join(site, dirname(page), decodeURIComponent(to))))
      .map((to) => `${page}: ${to}`),
  )
  expect(dead).toEqual([])
})

test('it serves nothing else', async () => {
  for (const path of ['%2e%2e/make.mjs', '..%2fmake.mjs', 'nothing', 'assets'])
    expect((await fetch(`${url}${path}`)).status, path).toBe(404)
})

describe.skipIf(CHROMIUM === undefined)(
  `in Chromium${CHROMIUM === undefined ? ' (it is not installed)' : ''}`,
  () => {
    let directory: string
    let page: Page
    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), 'inotify-bridge-browser-'))
      page = await Page.open(CHROMIUM as string, directory)
    })
    afterAll(async () => {
      await page.close()
      rmSync(directory, { recursive: true })
    })
    beforeEach(async () => {
      await page.send('Page.navigate', { url })
      await expect.poll(() => page.evaluate('document.readyState')).toBe('complete')
    })

    test.each(['setIgnore', 'IN_MOVED_TO', 'KATA_LIMITS', 'EXDEV'])('the search finds %s', async (word) => {
      await page.evaluate(`document.querySelector('#tsd-search-trigger').click()`)
      // The search loads its index when it is opened.
      const status = `document.querySelector('#tsd-search-status').textContent.trim()`
      await expect.poll(() => page.evaluate(status)).toBe('')
      await page.evaluate(`document.querySelector('#tsd-search-input').focus()`)
      await page.send('Input.insertText', { text: word })
      const first = `document.querySelector('#tsd-search-results a')`
      await expect.poll(() => page.evaluate(`${first}?.href`)).toMatch(/^http:.*\.html/)
      await page.evaluate(`${first}.click()`)
      await expect
        .poll(() =>
          page.evaluate(`document.readyState === 'complete' && document.title + document.body.textContent`),
        )
        .toContain(word)
    })

    test('its pages are dark or light as the reader has it', async () => {
      const brightness: Record<string, number> = {}
      for (const value of ['dark', 'light']) {
        await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] })
        const color = String(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
        brightness[value] = Math.max(...(color.match(/\d+/g) ?? []).map(Number))
      }
      expect(brightness.dark).toBeLessThan(70)
      expect(brightness.light).toBeGreaterThan(200)
    })
  },
)
