/** Names the entry file and the names of a generator's threads, by which a thread that was started ahead is found. */
import type { ThreadEntry } from "../model/runtime/ThreadsAhead.ts";

/** The thread `index` of a generator. */
export const generatorEntry = (index: number): ThreadEntry => ({
  url: new URL("./worker.ts", import.meta.url),
  name: `generator-${index}`,
});
