/** The section `pipeline`: the stages, their admission and the threads that step environments. */
import { Schema } from "effect";
import { concurrency, field, milliseconds, millisecondsOrNone, section, threads, whole } from "../field.ts";
import { WorkersSection } from "./WorkersSection.ts";

export const PipelineSection = Schema.Struct({
  mode: field(
    Schema.Literals(["lockstep", "sync", "async"]),
    "async",
    "Admission: lockstep, sync or async (docs/pipeline.md).",
  ),
  max_staleness: field(
    whole(0, 1_000),
    2,
    "Most windows that async admission may run ahead of the window being consumed (eta).",
  ),
  schedule: field(
    Schema.Literals(["free_running", "fixed_lag"]),
    "free_running",
    "Weights that async groups are played by: the newest at each token, or the same ones at any speed (docs/pipeline.md).",
  ),
  window_order: field(
    Schema.Literals(["admission", "completion"]),
    "admission",
    "Groups that form a window: the oldest admitted, or the first finished, which favours short episodes.",
  ),
  inbox: field(
    concurrency,
    8,
    "Finished groups that may wait for their window; every other stage's inbox holds one item.",
  ),
  rollout_concurrency: field(whole(0, 65_536), 0, "Groups in flight; 0 as many as admission allows."),
  autotune: field(
    Schema.Boolean,
    false,
    "Tune the concurrency of stages during the run to raise throughput (docs/tuning.md).",
  ),
  step_threads: field(threads, 2, "Threads that step environments."),
  step_concurrency: field(whole(1, 4_096), 2, "Batches of environment steps in flight."),
  step_timeout_ms: field(milliseconds, 5_000, "Time after which an environment step fails its episode."),
  step_spares: field(
    threads,
    24,
    "Extra threads beside step_threads, started on demand; each runs one step that is far slower than its peers.",
  ),
  step_give_way: field(
    Schema.Boolean,
    true,
    "Spare threads (step_spares) have the lowest priority once a step of the run has hung (Linux).",
  ),
  step_quarantine: field(
    whole(0, 1_000_000),
    2,
    "Time-outs and crashes of an instance after which its steps fail at once, for the rest of the run; 0 never.",
  ),
  step_inline: field(Schema.Boolean, false, "Step environments on the main thread, without a time limit."),
  score_concurrency: field(whole(1, 64), 1, "Windows that are scored concurrently."),
  stop_deadline_ms: field(millisecondsOrNone, 30_000, "Time that a stop waits for episodes in flight."),
  stall_ms: field(
    milliseconds,
    60_000,
    "Time without an event, a token or an environment step after which the run prints its stall report.",
  ),
  stall_abort_ms: field(
    millisecondsOrNone,
    0,
    "Time without progress after which the run fails, its closed step saved unless an update is under way; more than a turn, an update or a save takes; 0 never.",
  ),
  workers: section(WorkersSection, "Rollout workers on other machines."),
});
