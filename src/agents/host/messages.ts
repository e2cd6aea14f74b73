/** Messages between the main thread and the threads in which agents run. */

import type { StreamKey } from "../../domain/Random.ts";
import type { EnvironmentSpec } from "../../env/contract/Preset.ts";

/** Data of a thread when it starts. */
export interface ThreadSetup {
  /** Path of the agent's module. */
  readonly path: string;
  /** URL of a `RegistryModule`, and the presets that agents may ask for. */
  readonly registry: string;
  readonly presets: Readonly<Record<string, EnvironmentSpec>>;
}

/** An episode as its thread gets it. */
export interface EpisodeOrder {
  readonly id: number;
  readonly endpoint: string;
  readonly apiKey: string;
  readonly split: "train" | "val";
  readonly seed: number;
  readonly group: number;
  readonly member: number;
  /** Stream of the noise of an environment's turn, but for the turn, which is its last counter. */
  readonly noise: StreamKey;
}

export type ToThread =
  | { readonly _tag: "Run"; readonly order: EpisodeOrder }
  | { readonly _tag: "Abort"; readonly id: number; readonly reason: string };

/** The result of an agent, checked in its thread. */
export interface HostResult {
  readonly reward: number | readonly number[];
  readonly success: boolean;
  readonly metrics: Readonly<Record<string, number>>;
}

export type FromThread =
  /** Null if the module is an agent; else a sentence on why it is none. */
  | { readonly _tag: "Loaded"; readonly problem: string | null }
  /** Sent while the thread is not blocked. */
  | { readonly _tag: "Alive" }
  | { readonly _tag: "Finished"; readonly id: number; readonly result: HostResult }
  | { readonly _tag: "Failed"; readonly id: number; readonly message: string };
