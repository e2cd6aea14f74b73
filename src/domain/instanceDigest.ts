/** A short name of an instance's content, under which logs record what was played. */
import { createHash } from "node:crypto";

/** Equal for seeds of a preset that have the same content. */
export const instanceDigest = (tag: string, contentKey: string): string =>
  createHash("sha256")
    .update(JSON.stringify([tag, contentKey]))
    .digest("hex")
    .slice(0, 16);
