/**
 * Maps a text to [0, 1): the first four bytes of its SHA-256 as a fraction, nearly uniform over texts. Invariant: it depends on the text alone,
 * so that a row keeps its side of a split in every thread, on every machine, and when rows are added.
 */
import { createHash } from "node:crypto";

export const contentShare = (text: string): number =>
  createHash("sha256").update(text, "utf8").digest().readUInt32BE(0) / 2 ** 32;
