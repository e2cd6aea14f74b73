/**
 * Python's `hash` of a string of ASCII characters with hash randomisation off (PYTHONHASHSEED=0), for Python 3.11 and later: SipHash-1-3
 * (Aumasson and Bernstein, "SipHash", INDOCRYPT 2012) under the zero key, read as a signed 64-bit integer, -1 becoming -2.
 */

const rotate = (word: bigint, by: bigint): bigint => BigInt.asUintN(64, (word << by) | (word >> (64n - by)));

/** SipHash-1-3 of bytes under the zero key. */
const sipHash13 = (bytes: Uint8Array): bigint => {
  let v0 = 0x736f6d6570736575n;
  let v1 = 0x646f72616e646f6dn;
  let v2 = 0x6c7967656e657261n;
  let v3 = 0x7465646279746573n;
  const round = (): void => {
    v0 = BigInt.asUintN(64, v0 + v1);
    v1 = rotate(v1, 13n) ^ v0;
    v0 = rotate(v0, 32n);
    v2 = BigInt.asUintN(64, v2 + v3);
    v3 = rotate(v3, 16n) ^ v2;
    v0 = BigInt.asUintN(64, v0 + v3);
    v3 = rotate(v3, 21n) ^ v0;
    v2 = BigInt.asUintN(64, v2 + v1);
    v1 = rotate(v1, 17n) ^ v2;
    v2 = rotate(v2, 32n);
  };
  const absorb = (word: bigint): void => {
    v3 ^= word;
    round();
    v0 ^= word;
  };
  const whole = bytes.length - (bytes.length % 8);
  const wordAt = (from: number, to: number): bigint => {
    let word = 0n;
    for (let i = to - 1; i >= from; i--) word = (word << 8n) | BigInt(bytes[i]!);
    return word;
  };
  for (let at = 0; at < whole; at += 8) absorb(wordAt(at, at + 8));
  absorb((BigInt(bytes.length & 0xff) << 56n) | wordAt(whole, bytes.length));
  v2 ^= 0xffn;
  round();
  round();
  round();
  return v0 ^ v1 ^ v2 ^ v3;
};

export const pythonHash = (text: string): bigint => {
  if (text === "") return 0n;
  const hash = BigInt.asIntN(64, sipHash13(new TextEncoder().encode(text)));
  return hash === -1n ? -2n : hash;
};
