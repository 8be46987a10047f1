import { writeFileSync } from 'node:fs'

const SECTOR = 512

/** The sectors of each of the two tables: 2 bytes for each cluster of 4 sectors, of 65,535 sectors. */
const TABLE = 64

/**
 * Writes an empty FAT16, so that no mkfs.vfat is needed.
 *
 * @param {string} path
 */
export function writeFat(path) {
  const image = Buffer.alloc(65_535 * SECTOR)
  image.set([0xeb, 0x3c, 0x90])
  image.write('MSDOS5.0', 3, 'latin1')
  image.writeUInt16LE(SECTOR, 11)
  // The sectors of a cluster, the sectors before the tables (this one alone), the tables, the entries of the
  // root directory, all sectors, and the kind of disk.
  image.writeUInt8(4, 13)
  image.writeUInt16LE(1, 14)
  image.writeUInt8(2, 16)
  image.writeUInt16LE(512, 17)
  image.writeUInt16LE(65_535, 19)
  image.writeUInt8(0xf8, 21)
  image.writeUInt16LE(TABLE, 22)
  image.writeUInt8(0x29, 38)
  image.write('NO NAME    FAT16   ', 43, 'latin1')
  image.writeUInt16LE(0xaa55, 510)
  for (const table of [1, 1 + TABLE]) image.set([0xf8, 0xff, 0xff, 0xff], table * SECTOR)
  writeFileSync(path, image)
}
