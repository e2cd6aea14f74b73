/**
 * Collects one request's body in one growing block, so that many small pieces cost no more than one large piece. Invariant: the
 * share of the budget is the length of the block.
 */
import type { IncomingMessage } from "node:http";
import { Effect } from "effect";
import type { ByteBudget, Share } from "./ByteBudget.ts";
import { Problem } from "./Problem.ts";

/** The reason to stop reading a body: it is too long, or all bodies together fill the budget. */
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

  /** Null if the piece was added. */
  add(piece: Uint8Array): Excess | null {
    const length = this.#length + piece.byteLength;
    if (length > this.#most) return "long";
    if (length > this.#block.byteLength) {
      const size = Math.min(this.#most, Math.max(leastBlock, 2 * length));
      if (!this.#share.resize(size)) return "full";
      // A block from Node's pool would keep a larger one alive.
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

  /** Frees the block and its share. */
  release(): void {
    this.#block = Buffer.alloc(0);
    this.#length = 0;
    this.#share.release();
  }
}

/** The longest body of one request, and the budget of all unfinished bodies. */
export interface BodyLimits {
  readonly maxBytes: number;
  readonly budget: ByteBudget;
}

const problemOf = (excess: Excess, { budget, maxBytes }: BodyLimits): Problem => {
  if (excess === "long") return new Problem({ status: 413, message: `a body may have ${maxBytes} bytes` });
  const message = `the server holds ${budget.usedBytes()} bytes of unfinished requests and takes no more; ask again later`;
  return new Problem({ status: 503, message });
};

/**
 * Reads the body of a request. After a refusal the rest is not read. A client that hangs up interrupts the waiting fiber.
 */
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
