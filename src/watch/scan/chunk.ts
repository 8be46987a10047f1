// The fields of a record, as native/record/record.cc lays them out; little-endian.
export const SIZE = 0
export const ID = 4
export const PARENT = 8
export const WD = 12
export const ERROR = 16
export const FLAGS = 20
export const INO = 24
export const MOUNT_ID = 32
export const DEVICE = 40
export const MODE = 48
export const UID = 52
export const GID = 56
export const NAME_BYTES = 60
export const FILES_COUNT = 64
export const FILES_BYTES = 68
export const SUBDIRS_BYTES = 76
export const NAME = 80

export const BOUNDARY = 1
export const NAME_IS_ASCII = 4
export const VANISHED = 8
export const UNCHANGED = 32

export const NO_PARENT = -1

/** Whole records, as the walker hands them over. */
export class Chunk {
  readonly bytes: Buffer
  // The same memory: records are aligned, and the addon is built for little-endian machines alone.
  readonly i32: Int32Array
  readonly f64: Float64Array

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.i32 = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    this.f64 = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8)
  }
}
