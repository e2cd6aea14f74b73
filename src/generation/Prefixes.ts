/**
 * The prefixes that a generator thread's sequences share, by weights version and ids: each one's cache row and cached length. A new prefix
 * takes a free row, or that of the least recently needed prefix. Invariant: a prefix that the current plan needs keeps its row.
 */
import type { Version } from "../domain/Episode.ts";
import type { Prefix } from "./StepPlan.ts";

export class Prefixes {
  readonly #rows: number;
  readonly #prefixes = new Map<string, Prefix>();

  constructor(rows: number) {
    this.#rows = rows;
  }

  /** Returns the prefix and marks it as needed by plan `now`. Returns undefined if other prefixes need every row. */
  find(version: Version, key: string, length: number, now: number): Prefix | undefined {
    const name = `${version}/${key}`;
    const existing = this.#prefixes.get(name);
    if (existing !== undefined) {
      existing.lastNeeded = now;
      return existing;
    }
    const row = this.#row(now);
    if (row === undefined) return undefined;
    const prefix: Prefix = { version, length, row, cached: 0, lastNeeded: now };
    this.#prefixes.set(name, prefix);
    return prefix;
  }

  #row(now: number): number | undefined {
    const usedRows = new Set([...this.#prefixes.values()].map(({ row }) => row));
    for (let row = 0; row < this.#rows; row++) if (!usedRows.has(row)) return row;
    let oldest: { readonly name: string; readonly prefix: Prefix } | undefined;
    for (const [name, prefix] of this.#prefixes)
      if (prefix.lastNeeded < now && (oldest === undefined || prefix.lastNeeded < oldest.prefix.lastNeeded))
        oldest = { name, prefix };
    if (oldest !== undefined) this.#prefixes.delete(oldest.name);
    return oldest?.prefix.row;
  }
}
