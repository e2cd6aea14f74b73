/**
 * `node bench/learning/ablation.ts CHECKPOINT [--only NAME,…] [key.sub=value …]`: which safeguard keeps a trained Sokoban policy from losing
 * its success. Continues from the checkpoint for 50 updates at the run file's full learning rate: unchanged, with each safeguard removed
 * alone, with all removed, and with each of two things that such a start lacks (the schedule's late, smaller rates; a critic that is trained
 * already). Writes each run's record (`record.ts`); their validations show the change.
 */
import { readArguments, refuse } from "../readArguments.ts";
import { train } from "./training.ts";

const clip = ["actor.clip_ratio_low=1000", "actor.clip_ratio_high=1000", "actor.clip_ratio_c=0"];
const baseline = ["reward.method=identity"];
const filter = ["filter.value=1", "filter.include_zero=true"];
const gradient = ["actor.grad_clip=0"];

const variants: Readonly<Record<string, readonly string[]>> = {
  "as-it-is": [],
  "without-ratio-clip": clip,
  "without-group-mean": baseline,
  "without-filter": filter,
  "without-gradient-clip": gradient,
  "at-a-quarter-rate": ["actor.lr=1e-4"],
  "with-critic-warm-up": ["critic.warmup_windows=10"],
  "without-any": [...clip, ...baseline, ...filter, ...gradient],
};

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: { only: { type: "string", default: Object.keys(variants).join(",") } },
});
const [
  checkpoint = refuse(
    "name the checkpoint's folder: runs/sokoban/…/checkpoints/step-400, or one that run.ts --keep wrote",
  ),
  ...overrides
] = positionals;
const unknown = values.only.split(",").filter((name) => !(name in variants));
if (unknown.length > 0) refuse(`no variant ${unknown.join(", ")}; there are ${Object.keys(variants).join(", ")}`);

const start = [
  ...[`model.path=${checkpoint}`, "trainer.total_training_steps=50", "trainer.test_freq=25", "trainer.save_freq=0"],
  ...["actor.lr_decay=constant", "actor.lr_warmup_steps=0"],
];
for (const name of values.only.split(",")) {
  await train("_2_sokoban", [...start, ...variants[name]!, `run.name=sokoban-${name}`, ...overrides]);
}
