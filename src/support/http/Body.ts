/**
 * The bytes of one request's body as they arrive, in one block that grows, so that a body of many small pieces costs no more than a body of
 * one. Invariant: the share of the budget is the length of the block.
 */
import type { Share } from "./ByteBudget.ts";

/** Why a body is not read on: it is longer than it may be, or all bodies together are. */
export type Excess = "long" | "full";

const leastBlock = 1_024;

export class Body {
  readonly #most: number;
  readonly #share: Share;
  #block = Buffer.alloc(0);
  #length = 0;

  constructor(most: number, share: Share) {
    this.#most = most;
    this.#share = share;
  }

  /** Null where the piece was taken. */
  add(piece: Uint8Array): Excess | null {
    const length = this.#length + piece.byteLength;
    if (length > this.#most) return "long";
    if (length > this.#block.byteLength) {
      const size = Math.min(this.#most, Math.max(leastBlock, 2 * length));
      if (!this.#share.hold(size)) return "full";
      // Without the pool, of which a small block would keep a larger one.
      const block = Buffer.allocUnsafeSlow(size);
      this.#block.copy(block, 0, 0, this.#length);
      this.#block = block;
    }
    this.#block.set(piece, this.#length);
    this.#length = length;
    return null;
  }

  text(): string {
    return this.#block.toString("utf8", 0, this.#length);
  }

  /** Lets go of everything. */
  release(): void {
    this.#block = Buffer.alloc(0);
    this.#length = 0;
    this.#share.release();
  }
}
