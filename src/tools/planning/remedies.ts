/** The keys that take less memory where they are turned down, each with the next lower value; a key that is as low as it can be is left out. */
import { isFixedLag } from "../../config/fixedLag.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { bucket } from "../../domain/Passes.ts";

export interface Remedy {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly config: RunConfig;
}

type Change = readonly [key: string, from: string | number | boolean, to: string | number | boolean, config: RunConfig];

/** The rank of the adapter that a remedy suggests to train in place of the weights. */
const ADAPTER_RANK = 16;

const half = (value: number, least = 1): number => Math.max(least, Math.floor(value / 2));

const modelChanges = (config: RunConfig): readonly Change[] => {
  const { model } = config;
  const { generator_threads: generators, learner_lanes: lanes } = model;
  return [
    ["model.learner_lanes", lanes, half(lanes), { ...config, model: { ...model, learner_lanes: half(lanes) } }],
    [
      "model.generator_threads",
      generators,
      half(generators),
      { ...config, model: { ...model, generator_threads: half(generators) } },
    ],
    [
      "model.generator_prepack",
      model.generator_prepack,
      "never",
      { ...config, model: { ...model, generator_prepack: "never" } },
    ],
    [
      "model.lora.rank",
      model.lora.rank,
      model.lora.rank === 0 ? ADAPTER_RANK : model.lora.rank,
      { ...config, model: { ...model, lora: { ...model.lora, rank: ADAPTER_RANK } } },
    ],
  ];
};

const generationChanges = (config: RunConfig): readonly Change[] => {
  const { generation, rollout } = config;
  const { prefill_tokens, slots } = generation;
  const least = Math.max(bucket(rollout.max_model_len), 256);
  const fewer = half(prefill_tokens, Math.min(256, prefill_tokens));
  const shorter = half(rollout.max_model_len, Math.min(rollout.max_model_len, rollout.response_length + 64));
  return [
    ["generation.slots", slots, half(slots), { ...config, generation: { ...generation, slots: half(slots) } }],
    [
      "generation.prefill_tokens",
      prefill_tokens,
      fewer,
      { ...config, generation: { ...generation, prefill_tokens: fewer } },
    ],
    // An episode of one turn is as long as its prompt, whatever it may be.
    ...(rollout.max_turn > 1 && shorter < rollout.max_model_len && least > 256
      ? ([
          [
            "rollout.max_model_len",
            rollout.max_model_len,
            shorter,
            { ...config, rollout: { ...rollout, max_model_len: shorter } },
          ],
        ] as const)
      : []),
  ];
};

/** The settings that recompute more than the present one does. */
const stronger = (now: RunConfig["actor"]["gradient_checkpointing"]): readonly ("attention" | true)[] =>
  now === true ? [] : now === "attention" ? [true] : ["attention", true];

const learningChanges = (config: RunConfig): readonly Change[] => {
  const { actor, algorithm, critic, rollout } = config;
  const least = bucket(rollout.max_model_len);
  const fewer = half(actor.micro_batch_tokens, Math.min(least, actor.micro_batch_tokens));
  const learned = algorithm.adv_estimator === "gae";
  const layers = critic.layers === 0 ? 2 : half(critic.layers);
  return [
    [
      "actor.micro_batch_tokens",
      actor.micro_batch_tokens,
      fewer,
      { ...config, actor: { ...actor, micro_batch_tokens: fewer } },
    ],
    ...stronger(actor.gradient_checkpointing).map(
      (more): Change => [
        "actor.gradient_checkpointing",
        actor.gradient_checkpointing,
        more,
        { ...config, actor: { ...actor, gradient_checkpointing: more } },
      ],
    ),
    ...(learned
      ? ([
          ["critic.layers", critic.layers, layers, { ...config, critic: { ...critic, layers } }],
          ["algorithm.adv_estimator", "gae", "grpo", { ...config, algorithm: { ...algorithm, adv_estimator: "grpo" } }],
        ] as const)
      : []),
    ["actor.use_kl_loss", actor.use_kl_loss, false, { ...config, actor: { ...actor, use_kl_loss: false } }],
  ];
};

const stageChanges = (config: RunConfig): readonly Change[] => {
  const { pipeline } = config;
  const fewer = half(pipeline.step_threads);
  return [
    [
      "pipeline.step_threads",
      pipeline.step_threads,
      fewer,
      { ...config, pipeline: { ...pipeline, step_threads: fewer } },
    ],
    // A fixed lag goes with async alone, so it is the first thing to give up.
    isFixedLag(config)
      ? [
          "pipeline.schedule",
          pipeline.schedule,
          "free_running",
          { ...config, pipeline: { ...pipeline, schedule: "free_running" } },
        ]
      : ["pipeline.mode", pipeline.mode, "sync", { ...config, pipeline: { ...pipeline, mode: "sync" } }],
  ];
};

export const remedies = (config: RunConfig): readonly Remedy[] =>
  [modelChanges, generationChanges, learningChanges, stageChanges]
    .flatMap((changesOf) => changesOf(config))
    .filter(([, from, to]) => from !== to)
    .map(([key, from, to, changed]) => ({ key, from: String(from), to: String(to), config: changed }));
