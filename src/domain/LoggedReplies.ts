/** The replies that a log holds of one window, as the policy in front of it and the log itself know them. */
import type { Sampled } from "./Episode.ts";
import type { StreamKey } from "./Random.ts";

/** A request of a sequence, as far as a replay goes by it. */
export interface RepliedRequest {
  readonly sequence: number;
  readonly append: Int32Array;
  readonly key: StreamKey;
  readonly sampling: { readonly temperature: number; readonly topK: number; readonly topP: number };
}

export interface LoggedReplies {
  /** Returns the reply to a request, told apart by its key and a checksum of all else; undefined if the log has none. */
  readonly find: (key: StreamKey, checksum: number) => Sampled | undefined;
  readonly add: (key: StreamKey, checksum: number, sampled: Sampled) => void;
  /** Is called with each reply that the log gave. `opens` is true for the first request of a sequence. */
  readonly onGiven?: (request: RepliedRequest, sampled: Sampled, opens: boolean) => void;
}
