/**
 * The bytes of one request's body as they arrive, in one block that grows, so that a body of many small pieces costs no more than a body of
 * one. Invariant: the share of the budget is the length of the block.
 */
import type { IncomingMessage } from "node:http";
import { Effect } from "effect";
import type { ByteBudget, Share } from "./ByteBudget.ts";
import { Problem } from "./Problem.ts";

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
      if (!this.#share.resize(size)) return "full";
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

/** The longest body of one request, and what all bodies that are not whole yet may hold. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly budget: ByteBudget;
}

const problemOf = (excess: Excess, { budget, maxBytes }: BodyLimits): Problem => {
  if (excess === "long") return new Problem({ status: 413, message: `a body may have ${maxBytes} bytes` });
  const message = `the server holds ${budget.usedBytes()} bytes of unfinished requests and takes no more; ask again later`;
  return new Problem({ status: 503, message });
};

/** The body of a request. Where it is not taken, what is left of it is not read. A client that hangs up interrupts whoever waits for it. */
export const readBody = (request: IncomingMessage, limits: BodyLimits): Effect.Effect<string, Problem> =>
  Effect.callback<string, Problem>((resume) => {
    const body = new Body(limits.maxBytes, limits.budget.openShare());
    request.on("data", (piece: Buffer) => {
      const excess = body.add(piece);
      if (excess === null) return;
      request.pause();
      request.removeAllListeners("data");
      body.release();
      resume(Effect.fail(problemOf(excess, limits)));
    });
    request.on("end", () => {
      resume(Effect.succeed(body.text()));
      body.release();
    });
    return Effect.sync(() => body.release());
  });
