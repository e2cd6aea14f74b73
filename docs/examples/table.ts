/**
 * A policy and a learner of your own: no language model, but a table with one preference for each prompt of the two-armed bandit, trained by
 * REINFORCE (Williams 1992). Both live in this process and share the table, so no weights are sent.
 *
 * In a checkout: `npm run example -- docs/examples/table.ts`. Where the package is installed: `npx node table.ts`. Arguments are overrides.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CustomLearner, type CustomModelContext, type CustomPolicy, train } from "millrace";

const learningRate = 0.5;

/** The logit of the second arm against the first, by prompt. */
let table: Record<string, number> = {};
let text: CustomModelContext;

const probabilityOfSecond = (prompt: string): number => 1 / (1 + Math.exp(-(table[prompt] ?? 0)));
const armsIn = (prompt: string): readonly string[] => /<\|user\|>(.*)\n(.*)\n/.exec(prompt)?.slice(1) ?? [];

const policy: CustomPolicy = {
  start: (context) => {
    text = context;
  },
  generate: ({ prompt, random }) => {
    const key = text.decode(prompt);
    const second = probabilityOfSecond(key);
    const arm = random() < second ? 1 : 0;
    const reply = text.encode(`choose ${armsIn(key)[arm]}</think><answer>${armsIn(key)[arm]}</answer>`);
    const ids = Int32Array.of(...reply, text.stopIds[0]!);
    // The choice is made at the first id; the others follow from it.
    return {
      ids,
      logProbs: Float32Array.from(ids, (_, t) => (t === 0 ? Math.log(arm === 1 ? second : 1 - second) : 0)),
    };
  },
};

const learner: CustomLearner = {
  start: ({ restore }) => {
    if (restore !== null) table = JSON.parse(readFileSync(join(restore, "table.json"), "utf8"));
  },
  update: ({ ids, mask, offsets, rewards }) => {
    for (let sequence = 0; sequence + 1 < offsets.length; sequence++) {
      const [from, to] = [offsets[sequence]!, offsets[sequence + 1]!];
      const replyFrom = mask.indexOf(1, from);
      const key = text.decode(ids.subarray(from, replyFrom));
      const isSecond = text.decode(ids.subarray(replyFrom, to)).includes(`<answer>${armsIn(key)[1]}<`);
      const reward = rewards.subarray(from, to).reduce((sum, value) => sum + value, 0);
      const gradient = (isSecond ? 1 : 0) - probabilityOfSecond(key);
      table[key] = (table[key] ?? 0) + learningRate * reward * gradient;
    }
    return { applied: true };
  },
  save: (folder) => writeFileSync(join(folder, "table.json"), JSON.stringify(table)),
};

const run = await train("_1_bandit", ["pipeline.mode=sync", ...process.argv.slice(2)], { policy, learner });
for await (const step of run.steps) console.log(step.step, step.get("train/success"));
