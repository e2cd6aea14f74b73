/** Trainings from code that must compile, and others that must not: `tsc` is the test. */
import { defineEnvironment, integer } from "millrace/env";
import { defineEstimator, defineLoss, mul } from "millrace/learner";
import { evaluate, type OpenPolicy, type RunFile, type Step, sft, type TrainOptions } from "../../pipelines/main.ts";

export const accepted: RunFile = {
  trainer: { total_training_steps: 200 },
  pipeline: { mode: "async", max_staleness: 4 },
  custom_envs: { Lamps: { max_actions_per_traj: 12, env_config: { lamps: 4 } } },
};

export const refused: readonly RunFile[] = [
  // @ts-expect-error: a misspelt key
  { pipeline: { max_stalenes: 4 } },
  // @ts-expect-error: a mode that does not exist
  { pipeline: { mode: "asink" } },
  // @ts-expect-error: a text for a number
  { trainer: { total_training_steps: "200" } },
];

export const replies = async (policy: OpenPolicy) => {
  await policy.generate([{ role: "user", content: "Hello" }], { maxTokens: 8, temperature: 0 });
  // @ts-expect-error: a role that does not exist
  await policy.generate([{ role: "tool", content: "Hello" }]);
  // @ts-expect-error: a misspelt option
  await policy.generate("Hello", { max_tokens: 8 });
  // @ts-expect-error: an episode's replies have the run file's length
  await policy.play("FrozenLake", { maxTokens: 8 });
};

export const results = async () => {
  const { get, success } = await evaluate("runs/quickstart@400", { es_manager: { val: { env_groups: 8 } } });
  // @ts-expect-error: a misspelt metric
  get("val-env/sucess");
  // @ts-expect-error: an evaluation trains nothing
  await evaluate("quickstart", {}, { advantages: "./estimator.ts" });
  // @ts-expect-error: a source's player that does not exist
  const { steps } = await sft("sft_nano", { sft: { sources: [{ tag: "A", player: "me", episodes: 1, mistakes: 0 }] } });
  // @ts-expect-error: a step of cloning has no metrics of the catalogue
  for await (const step of steps) step.get("train/success");
  return success.mean + success.low + success.high;
};

export const models = [
  { learner: { update: () => ({ applied: true, metrics: { "actor/pg_loss": 1 } }), save: () => undefined } },
  // @ts-expect-error: a learner that cannot save
  { learner: { update: () => ({ applied: true }) } },
  // @ts-expect-error: a policy without log-probabilities
  { policy: { generate: () => ({ ids: [1] }) } },
] satisfies readonly TrainOptions[];

export const estimators = [
  defineEstimator({ estimate: (episodes) => episodes.map(({ score }) => score) }),
  // @ts-expect-error: an advantage that is no number
  defineEstimator({ estimate: (episodes) => episodes.map(({ group }) => `${group}`) }),
];

export const loss = defineLoss({
  // @ts-expect-error: no such input
  surrogate: ({ logp, advantage }) => mul(logp, advantage),
});

export const values = (step: Step) => [
  step.get("train/success"),
  step.get("train/AnyTag/num_actions"),
  // @ts-expect-error: a misspelt metric
  step.get("train/sucess"),
];

export const inferred = defineEnvironment({
  type: "inferred",
  config: { size: integer(1, 9, { default: 3, about: "Size." }) },
  reset: ({ size }) => ({ left: size }),
  step: (_config, { left }) => ({ state: { left: left - 1 }, terminated: left === 1 }),
  render: (config, { left }) => {
    // @ts-expect-error: no such key
    config.siz;
    // @ts-expect-error: no such part of the state
    return `${left} ${({ left }) as { left: number } satisfies { right: number }}`;
  },
});

export const tools = defineEnvironment({
  type: "tools",
  reset: () => ({ sum: 0 }),
  render: (_config, { sum }) => `${sum}`,
  tools: [
    {
      name: "add",
      description: "Adds.",
      parameters: {
        type: "object",
        properties: { by: { type: "integer" }, way: { enum: ["up", "down"] }, twice: { type: "boolean" } },
        required: ["by", "way"],
      },
      run: (_config, { sum }, { by, twice, way }) => {
        const signs = { up: 1, down: -1 } as const;
        const isTwice: boolean | undefined = twice;
        // @ts-expect-error: a number is no text
        const wrong: string = by;
        return { state: { sum: sum + signs[way] * by }, text: `${isTwice} ${wrong}` };
      },
    },
    {
      name: "stop",
      description: "Stops.",
      parameters: { type: "object", properties: {} },
      // @ts-expect-error: a result has a text
      run: (_config, state) => ({ state }),
    },
  ],
  answer: (_config, { sum }, text) => ({ reward: text === `${sum}` ? 1 : 0 }),
});
