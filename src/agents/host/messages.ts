/** Messages between the main thread and the threads or processes in which a module's agents run. */
import type { EnvironmentSpec } from "../../env/contract/Preset.ts";
import type { EpisodeOrder } from "./AgentHost.ts";
import type { AgentResult } from "./outcome.ts";

/** Data of a runner when it starts. */
export interface RunnerSetup {
  /** Path of the agent's module. */
  readonly path: string;
  /** URL of a `RegistryModule`, and the presets that agents may ask for. */
  readonly registry: string;
  readonly presets: Readonly<Record<string, EnvironmentSpec>>;
}

export type ToRunner =
  | { readonly _tag: "Run"; readonly id: number; readonly order: EpisodeOrder }
  | { readonly _tag: "Abort"; readonly id: number; readonly reason: string };

export type FromRunner =
  /** Null if the module is an agent; else a sentence on why it is none. */
  | { readonly _tag: "Loaded"; readonly problem: string | null }
  /** Sent while the runner is not blocked. */
  | { readonly _tag: "Alive" }
  | { readonly _tag: "Finished"; readonly id: number; readonly result: AgentResult }
  | { readonly _tag: "Failed"; readonly id: number; readonly message: string };
