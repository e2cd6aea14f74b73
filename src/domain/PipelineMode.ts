/** The way in which rollouts and updates take turns, and how far rollouts may run ahead. */

/** The way in which rollouts and updates take turns. */
export type PipelineMode = "lockstep" | "sync" | "async";

/** Windows by which a group may be admitted ahead of the window that is consumed. `maxStaleness` counts in async mode alone. */
export const lead = ({ maxStaleness, mode }: { readonly mode: PipelineMode; readonly maxStaleness: number }): number =>
  mode === "async" ? maxStaleness : 0;
