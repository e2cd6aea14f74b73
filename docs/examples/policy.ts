/**
 * What a policy can do from code: one is cloned from FrozenLake's solver, evaluated, and asked for a reply.
 *
 * In a checkout: `npm run example -- docs/examples/policy.ts`. Where the package is installed: `npx node policy.ts`. The argument is a folder for
 * what it writes.
 */
import { join } from "node:path";
import { evaluate, openPolicy, sft } from "millrace";

const dir = process.argv[2] ?? "runs";

const { model } = await sft("sft_nano", {
  run: { dir },
  sft: {
    output: join(dir, "cloned"),
    steps: 20,
    sources: [{ tag: "FrozenLake", episodes: 512, player: "solver", mistakes: 0 }],
  },
});

const [result] = await evaluate("quickstart", {
  run: { dir },
  model: { path: model },
  es_manager: { val: { env_groups: 32, n_groups: [32] } },
});
console.log(`success ${result?.success?.mean}, interval ${result?.success?.low} to ${result?.success?.high}`);

const policy = await openPolicy(model);
try {
  const messages = [
    { role: "system", content: "frozen_lake" },
    { role: "user", content: "_O__\n____\nOGO_\nO_P_\n10" },
  ] as const;
  const { text } = await policy.generate(messages, { prefix: "<think>", maxTokens: 40, temperature: 0 });
  console.log(text);
} finally {
  await policy.close();
}
