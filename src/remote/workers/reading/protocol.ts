/** The calls of the learner's thread that reads results of workers. */
import type { Version } from "../../../domain/Episode.ts";
import type { Prompt } from "../../../domain/Group.ts";
import type { Protocol } from "../../../model/runtime/ThreadProtocol.ts";
import type { Bounds, Flaw } from "../examine.ts";
import type { Opened } from "../GroupCodec.ts";

/** A result as it came, and what it is held against. */
export interface Result {
  readonly bytes: Uint8Array;
  readonly prompt: Prompt;
  /** The newest version that there was when it came. */
  readonly newest: Version;
}

/** What is the same for all results of a run. */
export type Rules = Pick<Bounds, "limits" | "vocabulary">;

/** The parts of a group that has passed, its text as JSON again; or what is wrong with it. */
export type Answer =
  | ({ readonly _tag: "Passed"; readonly json: string } & Omit<Opened, "text">)
  | { readonly _tag: "Flawed"; readonly flaw: Flaw };

export interface ReadProtocol extends Protocol {
  readonly calls: {
    /** Once, before `read`. */
    readonly start: { readonly request: Rules; readonly response: null };
    /** One answer for each result, in their order. */
    readonly read: { readonly request: readonly Result[]; readonly response: readonly Answer[] };
  };
  readonly events: never;
}
