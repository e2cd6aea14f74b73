/**
 * Uses a policy from code: one is cloned from FrozenLake's solver, trained for two steps, evaluated, and asked for a reply and an episode.
 *
 * In a checkout: `npm run example -- docs/examples/policy.ts`. Where the package is installed: `npx node policy.ts`, because
 * `await using` needs Node 24. The argument is a folder for what it writes.
 */
import { join } from "node:path";
import { evaluate, openPolicy, rewardOf, sft, train, turnsOf } from "millrace";

const dir = process.argv[2] ?? "runs";
const teacher = { tag: "FrozenLake", player: "solver", episodes: 256, mistakes: 0 } as const;

await using cloning = await sft("sft_nano", {
  run: { dir },
  sft: { sources: [teacher], steps: 20, output: join(dir, "cloned") },
});
for await (const { loss, step } of cloning.steps) if (step % 10 === 0) console.log(`clone ${step}: loss ${loss}`);
const { model } = await cloning.ended;

await using run = await train("quickstart", {
  run: { name: "lake", dir },
  model: { path: model },
  trainer: { total_training_steps: 2, val_before_train: false, val_at_end: false },
  es_manager: { train: { env_groups: 4 }, val: { env_groups: 16 } },
  actor: { ppo_mini_batch_size: 16 },
  metrics: { console: "off" },
});
await run.ended;

const { success } = await evaluate(run.folder);
console.log(`success ${success.mean}, 95 % interval ${success.low} to ${success.high}`);

await using policy = await openPolicy(run.folder);
const { text } = await policy.generate([
  { role: "system", content: "frozen_lake" },
  { role: "user", content: "_O__\n____\nOGO_\nO_P_\n10" },
]);
console.log(text);
const episode = await policy.play("FrozenLake", { seed: 7, temperature: 0 });
console.log(`${turnsOf(episode).length} turns, reward ${rewardOf(episode)}`);
