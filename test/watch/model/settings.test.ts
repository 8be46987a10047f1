import { describe, expect, test } from 'vitest'
import { brief, ORDINARY, type Settings, settingsFrom } from './settings.ts'

const drawn = (count: number, given?: Partial<Settings>) =>
  Array.from({ length: count }, (_, seed) => settingsFrom(seed, given))

describe('settings drawn from a seed', () => {
  test('are the same for the same seed, and others for others', () => {
    expect(drawn(20)).toEqual(drawn(20))
    expect(new Set(drawn(20).map(brief)).size).toBeGreaterThan(15)
  })

  test('have each value now and then', () => {
    const values = new Set(drawn(2000).flatMap((each) => Object.entries(each).map(String)))
    for (const value of [
      ...[
        'shape,crowded',
        'shape,deep',
        'shape,large',
        'roots,two',
        'roots,nested',
        'roots,files',
        'binds,true',
      ],
      ...['filesystem,ext4', 'filesystem,overlay', 'queue,16', 'queue,64', 'queue,256', 'watches,12'],
      ...['host,worker', 'host,process', 'consumer,slow', 'entryCache,1', 'followSymlinks,true'],
      ...['settle,20', 'settle,save', 'budget,1000', 'budget,20000', 'maxWatches,3'],
      ...['ignore,prefix', 'ignore,pattern', 'ignore,function', 'encoding,buffer', 'hash,true'],
      ...['source,poll', 'source,inotify+poll', 'start,amid', 'writers,1', 'exchanges,false'],
    ])
      expect(values).toContain(value)
  })

  test('have what is given', () => {
    expect(
      drawn(50, { queue: 16, shape: 'deep' }).every(({ queue, shape }) => queue === 16 && shape === 'deep'),
    ).toBe(true)
    expect(brief(settingsFrom(1, { ...ORDINARY, queue: 16 }))).toBe('{"queue":16}')
  })

  test('have what can be together, and is possible here', () => {
    expect(() => settingsFrom(1, { host: 'process', filesystem: 'overlay' })).toThrow(
      'no settings are possible',
    )
    expect(settingsFrom(1, {}, ({ writers }) => writers === 1).writers).toBe(1)
  })
})
