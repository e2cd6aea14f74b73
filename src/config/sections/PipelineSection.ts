/** The stages and their admission. */
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
    "async: windows a group may be admitted ahead of the window being consumed (eta).",
  ),
  window_order: field(
    Schema.Literals(["admission", "completion"]),
    "admission",
    "Which groups form a window: the oldest admitted, or as they finish (biased to short episodes).",
  ),
  inbox: field(concurrency, 8, "Finished groups that may wait for their window; every other inbox holds one item."),
  rollout_concurrency: field(whole(0, 65_536), 0, "Groups in flight; 0 means as many as admission allows."),
  autotune: field(
    Schema.Boolean,
    false,
    "Change the concurrency of stages while the run goes on, where that raises throughput (docs/tuning.md).",
  ),
  step_threads: field(threads, 2, "Threads that step environments."),
  step_concurrency: field(whole(1, 4_096), 2, "Step batches in flight."),
  step_timeout_ms: field(milliseconds, 5_000, "A step slower than this fails its episode."),
  step_spares: field(
    threads,
    24,
    "Threads beside step_threads, started when needed. Each tries one step that takes far longer than its like.",
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
  score_concurrency: field(whole(1, 64), 1, "Windows scored at once."),
  stop_deadline_ms: field(millisecondsOrNone, 30_000, "How long a stop waits for episodes in flight."),
  stall_ms: field(milliseconds, 60_000, "Time without an event after which the stall report is printed."),
  workers: section(WorkersSection, "Rollout workers on other machines."),
});
