// Advice that no verdict of the verdicts_of_*.test.ts shows.
import { expect, it } from 'vitest'
import { examine } from '../../src/mounts/diagnosis/examine.ts'
import { type Files, imagine } from './imagined.ts'

async function adviceOf(table: string, path: string, files: Files): Promise<string[]> {
  return (await examine(path, imagine(table, { files }))).diagnosis.advice
}

it('gives each piece of advice once for several mounts, the one that changes no program first', async () => {
  const found = await adviceOf('wsl2', '/mnt/c/link', {
    '/mnt/c/link': '-> /mnt/d/file',
    '/mnt/d/file': 'file',
  })
  expect(found).toEqual([
    expect.stringContaining('not below /mnt/c'),
    expect.stringContaining('NODE_OPTIONS="--import inotify-bridge/register"'),
    expect.stringContaining("'inotify-bridge run -- PROGRAM'"),
    expect.stringContaining('inotify-bridge mirror /mnt/c TARGET'),
    expect.stringContaining('polls /mnt/c (9p) by itself, and so reports all changes'),
    expect.stringContaining('not below /mnt/d'),
    expect.stringContaining('polls /mnt/d (9p)'),
  ])
})

it('does not send anyone to mirror /proc, but to compare contents', async () => {
  expect(await adviceOf('docker', '/proc', {})).toEqual([expect.stringContaining('at intervals')])
})

it('quotes a path for a shell', async () => {
  const path = "/mnt/nfs/it's here"
  const found = await adviceOf('server', path, { [`${path}/x`]: 'file' })
  expect(found.join()).toContain("inotify-bridge mirror '/mnt/nfs/it'\\''s here' TARGET")
})

it.each([
  ['/app.yaml', 'app.yaml', '{ name: config, mountPath: /config }'],
  ['/etc/app/true', 'true', '{ name: config, mountPath: /etc/app/true, subPath: "true" }'],
  ['/etc/app/a b', 'a b', 'subPath: "a b"'],
])('of a subPath at %s the manifest can be used', async (point, key, line) => {
  const system = imagine('subpath', { files: { [point]: 'file' } })
  const ts = '..2024_05_17_09_12_44.1234567890'
  const own = (text: string) => text.replaceAll(' ', '\\040')
  const row = `2120 2101 259:1 /pods/5b3c/volumes/kubernetes.io~configmap/config/${ts}/${own(key)} ${own(point)} ro - ext4 /dev/x rw\n`
  const readMountinfo = () => system.readMountinfo() + row
  const sight = {
    ...system.sight,
    look: async (path: string) => ({ ...(await system.sight.look(path)), mount: 0 }),
  }
  sight.reach = sight.look
  const { diagnosis } = await examine(point, { ...system, sight, readMountinfo })
  expect(diagnosis.pinned).toBe('static')
  expect(diagnosis.advice.join('\n')).toContain(line)
})
