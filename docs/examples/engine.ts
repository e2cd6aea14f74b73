/**
 * The engine called from code: start a run file, watch its streams, change a stage while it runs, stop it.
 *
 * `steps$`, `events$`, `samples$` and `stage(name).out$` are rxjs streams. They report what happens and hold nothing up: a slow subscriber
 * is its own concern. `stop()` closes admission, lets the groups in flight finish within `pipeline.stop_deadline_ms` and writes a checkpoint,
 * which `train("quickstart", [], { resume: run.folder })` goes on from.
 *
 * In a checkout: `npm run example -- docs/examples/engine.ts metrics.console=off`. Where the package is installed:
 * `npx node engine.ts metrics.console=off`. Arguments are overrides of the run file.
 */
import { train } from "millrace";

const run = await train("quickstart", process.argv.slice(2));
console.log(`stages: ${run.stages().join(", ")}`);

// Every window that was learned from, before its step is recorded.
run.stage("learn").out$.subscribe(({ report, window }) => {
  console.log(
    `window ${window.index}: ${report === null ? "nothing to train on" : `weights version ${report.version}`}`,
  );
});

// One record a step: the same numbers as in metrics.jsonl.
run.steps$.subscribe(({ metrics, step }) => {
  console.log(`step ${step}: ${metrics.size} metrics`);
  // Half as many groups at a time from here on. Those that run are finished first.
  const rollout = run.stage("rollout");
  if (step === 1) rollout.setConcurrency(rollout.concurrency() / 2);
  if (step === 3) run.stop();
});

const { checkpoint, reason, step } = await run.ended;
console.log(`${reason} after step ${step}: ${checkpoint}`);
