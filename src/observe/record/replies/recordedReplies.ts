/** The log of a recorded run as a replay reads it: every window's replies, and nothing is written. */
import { readFile } from "node:fs/promises";
import { Effect } from "effect";
import type { LoggedReplies } from "../../../domain/LoggedReplies.ts";
import { pathOf } from "./ReplyFiles.ts";
import type { ReplyLog } from "./ReplyLog.ts";
import { decodeAll } from "./ReplyRecord.ts";
import { WindowReplies } from "./WindowReplies.ts";

type OnGiven = NonNullable<LoggedReplies["onGiven"]>;

/**
 * Returns the log in `folder`. Groups of window `until` and later ones wait for ever, because the run may have ended before it sampled them.
 * `onGiven` is called with each reply that a window is given.
 */
export const recordedReplies = (
  folder: string,
  until: number,
  onGiven: (window: number, ...given: Parameters<OnGiven>) => void,
): ReplyLog => {
  const windows = new Map<number, Promise<LoggedReplies>>();
  const load = async (window: number): Promise<LoggedReplies> => {
    const bytes = await readFile(pathOf(folder, window)).catch(() => Buffer.alloc(0));
    const replies = new WindowReplies(decodeAll(bytes).records);
    return {
      find: (key, checksum) => replies.find(key, checksum),
      add: () => {},
      onGiven: (...given) => onGiven(window, ...given),
    };
  };
  return {
    window: (window) =>
      window >= until
        ? Effect.never
        : Effect.promise(() => {
            const loading = windows.get(window) ?? load(window);
            windows.set(window, loading);
            return loading;
          }),
  };
};
