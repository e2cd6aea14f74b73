/** The log of a recorded run as a replay reads it: every window's replies, and nothing is written. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect } from "effect";
import type { LoggedReplies } from "../../generation/LoggedPolicy.ts";
import type { ReplyLog } from "../../observe/record/replies/ReplyLog.ts";
import { decodeAll } from "../../observe/record/replies/ReplyRecord.ts";
import { WindowReplies } from "../../observe/record/replies/WindowReplies.ts";

type OnGiven = NonNullable<LoggedReplies["onGiven"]>;

/** Returns the log in the folder `replies`. `onGiven` is called with each reply that a window is given. */
export const recordedReplies = (
  replies: string,
  onGiven: (window: number, ...given: Parameters<OnGiven>) => void,
): ReplyLog => {
  const windows = new Map<number, Promise<LoggedReplies>>();
  const load = async (window: number): Promise<LoggedReplies> => {
    const path = join(replies, `window-${String(window).padStart(6, "0")}.bin`);
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    const held = new WindowReplies(decodeAll(bytes).records);
    return {
      find: (key, checksum) => held.find(key, checksum),
      add: () => {},
      onGiven: (...given) => onGiven(window, ...given),
    };
  };
  return {
    window: (window) =>
      Effect.promise(() => {
        const loading = windows.get(window) ?? load(window);
        windows.set(window, loading);
        return loading;
      }),
    bytes: () => 0,
  };
};
