/**
 * A training from code: an environment of one's own (environment/lamps.ts), a reward that counts presses, and each step as it comes.
 *
 * In a checkout: `npm run example -- docs/examples/train.ts`. Where the package is installed, copy it and environment/lamps.ts: `npx node train.ts`.
 */
import { csv, type Episode, succeeded, train, turnsOf } from "millrace";

/** A solved episode earns less for each turn it took. */
const reward = (episode: Episode): number => (succeeded(episode) ? 1 - 0.1 * turnsOf(episode).length : 0);

const run = await train(
  "quickstart",
  {
    run: { name: "lamps", dir: process.argv[2] ?? "runs" },
    trainer: { total_training_steps: 2, val_before_train: false, val_at_end: false },
    es_manager: { train: { env_groups: 4, group_size: 4 } },
    actor: { ppo_mini_batch_size: 16 },
    pipeline: { max_staleness: 1 },
    metrics: { console: "off" },
  },
  { environments: { Lamps: new URL("./environment/lamps.ts", import.meta.url) }, reward, sinks: [csv("steps.csv")] },
);
try {
  for await (const step of run.steps)
    console.log(step.step, step.get("train/success"), step.get("train/Lamps/num_actions"));
  console.log((await run.ended).checkpoint);
} finally {
  await run.close();
}
