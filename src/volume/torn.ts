/** Something changed under its reader, who throws away all that was read so far: two versions may be mixed in it. */
export class Torn extends Error {
  override readonly name = 'Torn'
}
