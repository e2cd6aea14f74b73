/**
 * A run without models: a policy that answers with a fixed reply, an environment that only counts, a learner that makes versions, and texts of
 * one id per character. The bench says how long each call takes; the engine around them is the real one.
 */
import { Effect, identity } from "effect";
import type { Sampled } from "../src/domain/Episode.ts";
import { Environments, type View } from "../src/env/contract/Environments.ts";
import { emptySample } from "../src/flow/Gauge.ts";
import { type GenerateRequest, Policy, type ThreadGauges } from "../src/generation/Policy.ts";
import { Learner } from "../src/learner/Learner.ts";
import type { ChatTemplate } from "../src/model/tokenizer/ChatTemplate.ts";
import type { PlayMode, Rollout } from "../src/rollout/Rollout.ts";
import { templates } from "../src/rollout/Rollout.ts";
import type { Task } from "../src/rollout/Task.ts";

const END = 1;
const encode = (text: string): Int32Array => Int32Array.from(text, (c) => c.codePointAt(0)!);
const chat: ChatTemplate = {
  endId: END,
  endIds: [END],
  encodeReply: (reply) => ({ replyPrefix: "", ids: encode(reply) }),
  opening: (system, user, prefix = "") => encode(`${system}|${user}|${prefix}`),
  bridge: (user, prefix = "") => encode(`${user}|${prefix}`),
  beforeUser: (opening) => decode(opening).indexOf("|") + 1,
};
const decode = (ids: Iterable<number>): string =>
  Array.from(ids, (id) => (id === END ? "" : String.fromCodePoint(id))).join("");

/** A fresh copy of the same reply, as a generator would send it. */
export const reply = (): Sampled => {
  const ids = Int32Array.from([...encode("Go</answer>"), END]);
  return {
    ids,
    mu: new Float32Array(ids.length).fill(-0.7),
    versions: new Int32Array(ids.length),
    entropies: new Float32Array(ids.length).fill(0.7),
    finish: "stop",
  };
};

const task: Task = {
  tag: "Null",
  kind: "null",
  instruction: "",
  isCustom: false,
  legend: "",
  wholeAnswer: false,
  wholeRewards: false,
  actionsInState: false,
  maxActions: 1000,
  maxTokens: 100,
  memory: "simple",
};

export const rollout = (turns: number): Rollout => ({
  tasks: new Map([[task.tag, task]]),
  template: templates.compact({ think: false, separator: "||" }),
  chat,
  decode,
  pieces: (ids) => Array.from(ids, (id) => decode([id])),
  limits: {
    template: "compact",
    enable_think: false,
    max_turn: turns,
    max_actions_per_turn: 1,
    action_sep: "||",
    context: "full",
    max_context_window: -1,
    overflow: "end",
    summary: "none",
    summary_length: 100,
    train_summary: false,
    max_model_len: 10_000,
    response_length: 100,
    enable_response_mask: true,
  },
  penalties: {
    format_penalty: -0.1,
    step_penalty: 0,
    think_quality_penalty: 0,
    think_len_penalty: 0,
    think_len_limit: -1,
    think_coord_fmt_penalty: 0,
  },
  seed: 1,
});

export const mode: PlayMode = {
  split: "train",
  sampling: { temperature: 1, topK: -1, topP: 1 },
  pin: null,
  isExcluded: () => false,
  wrapEpisode: identity,
};

/** Group, member and turn of a call, read from its stream's key. */
export type Wait = (group: number, member: number, turn: number) => Effect.Effect<void>;
const at = (wait: Wait, [group = 0, member = 0, turn = 0]: readonly number[]): Effect.Effect<void> =>
  wait(group, member, turn);

/** A generator that has done nothing. */
export const idleGenerator: ThreadGauges = {
  version: 0,
  slots: 0,
  active: 0,
  idle: 0,
  sampledTokens: 0,
  prefilledTokens: 0,
  refedTokens: 0,
  decodeSteps: 0,
  splitSteps: 0,
  adoptions: 0,
  adoptionMs: { last: 0, max: 0 },
  threads: { ...emptySample("generator"), kind: "service" },
};

/** `wait` comes before every reply. */
export const policy = (wait: Wait): Policy["Service"] =>
  Policy.of({
    generate: ({ key }: GenerateRequest) => Effect.map(at(wait, key.counters), reply),
    release: () => Effect.void,
    version: Effect.succeed(0),
    awaitVersion: () => Effect.void,
    hold: Effect.succeed(0),
    gauges: Effect.succeed(idleGenerator),
  });

const view = (steps: number, score: number): View => ({
  state: { steps, score },
  observation: "",
  compact: String(steps),
  actions: ["Go"],
  contentKey: "null",
});

/** `wait` comes before every step. Members of a group earn differently, so that no filter finds a group without variance. */
export const environments = (wait: Wait): Environments["Service"] =>
  Environments.of({
    reset: () => Effect.succeed(view(0, 0)),
    release: () => Effect.void,
    step: ({ noise }) =>
      Effect.map(at(wait, noise.counters), () => {
        const [, member = 0, turn = 0] = noise.counters;
        return {
          view: view(turn, member),
          executed: 1,
          reward: member % 2,
          terminated: false,
          truncated: false,
          success: false,
          info: {},
        };
      }),
  });

/** `wait` is what an update takes. */
export const learner = (wait: Effect.Effect<void>): Learner["Service"] => {
  let version = 0;
  return Learner.of({
    update: ({ kept: { ids } }) =>
      Effect.map(wait, () => ({
        version: ++version,
        applied: true,
        untrained: null,
        metrics: new Map(),
        seconds: new Map(),
        credit: {
          advantages: new Float32Array(ids.length),
          returns: new Float32Array(ids.length),
          values: new Float32Array(ids.length),
        },
      })),
    analyse: () => Effect.sync(() => new Map()),
    score: () => Effect.sync(() => ({ rows: 0, sums: new Float64Array(0), version, seconds: 0 })),
    save: () => Effect.void,
    version: Effect.sync(() => version),
    lanes: null,
  });
};
