/**
 * The bytes of a token id in byte-level BPE (one printable character per byte) and byte fallback (`<0xNN>` tokens beside ordinary
 * text).
 * Invariant: the bytes of a text's ids, end to end, are its UTF-8, so byte matching works across ids that split a character.
 */

/** The spelling of bytes in a vocabulary. */
export type ByteSpelling = "byte_level" | "byte_fallback";

export interface VocabularyView {
  readonly spelling: ByteSpelling;
  /** Number of ids, holes included. */
  readonly size: number;
  readonly tokenOf: (id: number) => string | undefined;
  /** Added tokens are spelled literally in either family. */
  readonly isAdded: (id: number) => boolean;
}

/** Bytes of an id; empty for an id no token has. The array is shared: do not write to it. */
export type BytesOf = (id: number) => Uint8Array;

/** The character that spells each byte: printable Latin-1 stands for itself, the rest for 256, 257, … in order. */
export const characterOfByte: readonly string[] = (() => {
  const printable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xff && byte !== 0xad);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
})();

const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  characterOfByte.map((character, byte) => [character, byte]),
);

const utf8 = new TextEncoder();
const none = new Uint8Array();
const fallbackToken = /^<0x([0-9A-Fa-f]{2})>$/;

const byteLevelBytes = (token: string): Uint8Array => {
  const bytes = Array.from(token, (character) => byteOfCharacter.get(character));
  // A token with a character outside the map was spelled literally.
  return bytes.every((byte) => byte !== undefined) ? Uint8Array.from(bytes) : utf8.encode(token);
};

const fallbackBytes = (token: string): Uint8Array => {
  const hexadecimal = fallbackToken.exec(token)?.[1];
  // U+2581 is how SentencePiece writes a space.
  return hexadecimal === undefined
    ? utf8.encode(token.replaceAll("▁", " "))
    : Uint8Array.of(Number.parseInt(hexadecimal, 16));
};

/** Spells an id when it is first asked for and remembers it, so that a large vocabulary costs only what is used of it. */
export const make = ({ spelling, size, tokenOf, isAdded }: VocabularyView): BytesOf => {
  const spelled = new Array<Uint8Array | undefined>(size);
  const spell = spelling === "byte_level" ? byteLevelBytes : fallbackBytes;
  return (id) => {
    if (!(id >= 0 && id < size)) return none;
    const cached = spelled[id];
    if (cached !== undefined) return cached;
    const token = tokenOf(id);
    const bytes = token === undefined ? none : isAdded(id) ? utf8.encode(token) : spell(token);
    spelled[id] = bytes;
    return bytes;
  };
};
