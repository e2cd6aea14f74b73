/** The calls of the learner's thread that reads results of workers. */
import type { Version } from "../../../domain/Episode.ts";
import type { Prompt } from "../../../domain/Group.ts";
import type { Protocol } from "../../../model/runtime/ThreadProtocol.ts";
import type { GroupParts } from "../GroupCodec.ts";
import type { GroupBounds, GroupFlaw } from "../groupFlaw.ts";

/** A worker's result, and the prompt and version that it is checked against. */
export interface GroupResult {
  readonly bytes: Uint8Array;
  readonly prompt: Prompt;
  /** The newest version when the result arrived. */
  readonly newestVersion: Version;
}

/** The limits that hold for all results of a run. */
export type ReadingRules = Pick<GroupBounds, "limits" | "vocabulary">;

/** The parts of a group that has passed, its text encoded anew; or its flaw. */
export type CheckedResult =
  | ({ readonly _tag: "Passed"; readonly json: string } & Omit<GroupParts, "text">)
  | { readonly _tag: "Flawed"; readonly flaw: GroupFlaw };

export interface ResultReaderProtocol extends Protocol {
  readonly calls: {
    /** Once, before `read`. */
    readonly start: { readonly request: ReadingRules; readonly response: null };
    /** One answer for each result, in their order. */
    readonly read: { readonly request: readonly GroupResult[]; readonly response: readonly CheckedResult[] };
  };
  readonly events: never;
}
