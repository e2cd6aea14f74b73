/**
 * One environment thread: a piscina pool of a single worker, so that it can be watched, given up and ended by itself. It answers one batch at
 * a time. Who stops waiting for an answer does not end it.
 */
import module from "node:module";
import { setPriority } from "node:os";
import { dirname } from "node:path";
import { Effect, Schema } from "effect";
import { Piscina } from "piscina";
import type { Request } from "../contract/Request.ts";
import { Cells, type Standing } from "./cells.ts";
import type { Batch, How, Reply, Setup } from "./worker.ts";

/** The thread exited, ran out of memory, or returned a value that cannot be cloned. */
export class ThreadLost extends Schema.TaggedError<ThreadLost>()("ThreadLost", { message: Schema.String }) {}

const messageOf = (cause: unknown): string =>
  cause instanceof Error && cause.message !== "" ? cause.message : "the thread ended without a reason";

/** Node makes a folder for its version within the one it is given. */
const compileCache = (): string | null => {
  const folder = module.getCompileCacheDir();
  return folder === undefined ? null : dirname(folder);
};

/** The nicest there is. */
const lowest = 19;

export class Thread {
  readonly #pool: Piscina<Batch, Reply>;
  readonly #cells = Cells.make();
  #lost = false;
  #yields = false;

  constructor(setup: Pick<Setup, "registry" | "presets">) {
    this.#pool = new Piscina<Batch, Reply>({
      filename: new URL("./entry.ts", import.meta.url).href,
      minThreads: 1,
      maxThreads: 1,
      maxQueue: Number.POSITIVE_INFINITY,
      // Otherwise a thread stops its event loop between tasks.
      atomics: "disabled",
      recordTiming: false,
      workerData: { ...setup, cells: this.#cells.memory, compileCache: compileCache() } satisfies Setup,
    });
    // It failed outside of any batch.
    this.#pool.on("error", () => {
      this.#lost = true;
    });
  }

  /** No batch may be given to it. */
  lost(): boolean {
    return this.#lost;
  }

  /** It gave way to all others, which cannot be taken back. */
  yields(): boolean {
    return this.#yields;
  }

  readonly standing = (): Standing => this.#cells.standing();
  readonly strays = (): number => this.#cells.strays();
  /** It answers no more than the request it is at. */
  readonly cut = (): void => this.#cells.cut();

  /** An empty batch is answered when the thread has loaded its environments. Never rejects. */
  post(requests: readonly Request[], how: How): Promise<Reply | ThreadLost> {
    return this.#pool.run({ requests, ...how, epoch: this.#cells.clear() }).catch((cause: unknown) => {
      this.#lost = true;
      return new ThreadLost({ message: messageOf(cause) });
    });
  }

  /** Lets every other thread of the machine go first, where the system can (Linux). */
  giveWay(): void {
    const id = this.#cells.id();
    if (id === null || this.#yields) return;
    try {
      setPriority(id, lowest);
      this.#yields = true;
    } catch {
      // It has ended meanwhile.
    }
  }

  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    this.#lost = true;
    return Effect.promise(() => this.#pool.destroy());
  });
}
