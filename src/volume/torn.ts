/** What is read changed under the reader: what was read so far may mix two versions and is thrown away. */
export class Torn extends Error {
  override readonly name = 'Torn'
}
