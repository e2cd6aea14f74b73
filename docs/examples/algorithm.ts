/**
 * A training with an advantage estimator (estimator.ts) and a policy loss (loss.ts) of your own, which the learner's thread loads. A run file
 * names them as `algorithm.custom_estimator` and `actor.custom_loss`.
 *
 * In a checkout: `npm run example -- docs/examples/algorithm.ts trainer.total_training_steps=10`. Where the package is installed, copy the three
 * files: `npx node algorithm.ts trainer.total_training_steps=10`. Arguments are overrides of the run file.
 */
import { train } from "millrace";

const run = await train(
  "quickstart",
  ["reward.method=identity", "reward.use_turn_scores=true", ...process.argv.slice(2)],
  {
    advantages: new URL("./estimator.ts", import.meta.url),
    policyLoss: new URL("./loss.ts", import.meta.url),
  },
);
for await (const step of run.steps) console.log(step.step, step.get("actor/pg_loss"), step.get("train/success"));
