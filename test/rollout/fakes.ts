/**
 * Fakes of what the rollout stands on: a tokenizer of one id per character, a policy that answers from a script, and a corridor
 * (`reach`: walk Right `length` times) as environments. All record what they were asked.
 */
import { Effect, identity, Layer } from "effect";
import type { Sampled } from "../../src/domain/Episode.ts";
import type { PolicyError } from "../../src/domain/Errors.ts";
import { Environments, type StepFailure, type StepRequest, type View } from "../../src/env/contract/Environments.ts";
import { type GenerateRequest, Policy } from "../../src/generation/Policy.ts";
import type { ChatTemplate } from "../../src/model/tokenizer/ChatTemplate.ts";
import type { PlayMode, Rollout } from "../../src/rollout/Rollout.ts";
import { templates } from "../../src/rollout/Rollout.ts";
import type { Task } from "../../src/rollout/Task.ts";
import { promptOf } from "../build/groups.ts";

export const endId = 1;
export const encode = (text: string): Int32Array => Int32Array.from(text, (c) => c.codePointAt(0)!);
export const decode = (ids: Iterable<number>): string =>
  Array.from(ids, (id) => (id === endId ? "<end>" : String.fromCodePoint(id))).join("");

export const chat: ChatTemplate = {
  endId,
  endIds: [endId],
  encodeReply: (reply) => ({ replyPrefix: "", ids: encode(reply) }),
  opening: (system, user, prefix = "") => encode(`${system === "" ? "" : `[S]${system}`}[U]${user}[A]${prefix}`),
  bridge: (user, prefix = "") => encode(`[U]${user}[A]${prefix}`),
  beforeUser: (opening) => decode(opening).indexOf("[U]") + 3,
};

export const sampled = (text: string, ended = true): Sampled => {
  const ids = ended ? Int32Array.from([...encode(text), endId]) : encode(text);
  return {
    ids,
    mu: new Float32Array(ids.length).fill(-1),
    versions: new Int32Array(ids.length),
    entropies: new Float32Array(ids.length).fill(0.5),
    finish: ended ? "stop" : "length",
  };
};

export interface FakePolicy {
  readonly layer: Layer.Layer<Policy>;
  readonly requests: GenerateRequest[];
  readonly released: number[];
  /** Both in the order in which they came, with the replies as text. */
  readonly log: LogEntry[];
}

export type LogEntry =
  | { readonly _tag: "Asked"; readonly sequence: number; readonly append: Int32Array; readonly reply: string }
  | { readonly _tag: "Released"; readonly sequence: number };

/** `answer` gives the reply of a request; the number is the request's turn (1-based) within its sequence. */
export const fakePolicy = (
  answer: (request: GenerateRequest, turn: number) => Effect.Effect<Sampled, PolicyError>,
): FakePolicy => {
  const requests: GenerateRequest[] = [];
  const released: number[] = [];
  const log: LogEntry[] = [];
  const turns = new Map<number, number>();
  const layer = Layer.succeed(
    Policy,
    Policy.of({
      generate: (request) =>
        Effect.suspend(() => {
          requests.push(request);
          const turn = (turns.get(request.sequence) ?? 0) + 1;
          turns.set(request.sequence, turn);
          return Effect.tap(answer(request, turn), ({ ids }) =>
            Effect.sync(() => {
              const { append, sequence } = request;
              log.push({ _tag: "Asked", sequence, append, reply: decode(ids) });
            }),
          );
        }),
      release: (sequence) =>
        Effect.sync(() => {
          released.push(sequence);
          log.push({ _tag: "Released", sequence });
        }),
      version: Effect.succeed(0),
      hold: Effect.succeed(0),
      awaitVersion: () => Effect.void,
      gauges: Effect.die("not asked"),
    }),
  );
  return { layer, requests, released, log };
};

/** Replies by turn, the last one repeated. */
export const scripted = (...replies: readonly string[]): FakePolicy =>
  fakePolicy((_, turn) => Effect.succeed(sampled(replies[Math.min(turn, replies.length) - 1]!)));

interface Corridor {
  readonly at: number;
  readonly length: number;
}

const view = (state: Corridor): View => ({
  state,
  observation: `at ${state.at} of ${state.length}`,
  compact: `${state.at}/${state.length}`,
  actions: ["Left", "Right"],
  contentKey: `corridor ${state.length}`,
});

export interface FakeEnvironments {
  readonly layer: Layer.Layer<Environments>;
  readonly steps: StepRequest[];
  readonly resets: number[];
}

/** A corridor whose length is `lengthOf(seed)`; `fails` may refuse a step or a reset (`null` request). */
export const corridor = (
  lengthOf: (seed: number) => number,
  fails: (request: StepRequest | null) => StepFailure | null = () => null,
): FakeEnvironments => {
  const steps: StepRequest[] = [];
  const resets: number[] = [];
  const layer = Layer.succeed(
    Environments,
    Environments.of({
      release: () => Effect.void,
      reset: ({ instance }) =>
        Effect.suspend(() => {
          resets.push(instance.seed);
          const failure = fails(null);
          return failure === null
            ? Effect.succeed(view({ at: 0, length: lengthOf(instance.seed) }))
            : Effect.fail(failure);
        }),
      step: (request) =>
        Effect.suspend(() => {
          steps.push(request);
          const failure = fails(request);
          if (failure !== null) return Effect.fail(failure);
          let state = request.state as Corridor;
          let executed = 0;
          for (const action of request.actions) {
            state = { ...state, at: Math.max(0, state.at + (action === "Right" ? 1 : -1)) };
            executed++;
            if (state.at >= state.length) break;
          }
          const terminated = state.at >= state.length;
          return Effect.succeed({
            view: view(state),
            executed,
            reward: terminated ? 1 : -0.1 * executed,
            terminated,
            truncated: false,
            success: terminated,
            info: { action_is_effective: executed },
          });
        }),
    }),
  );
  return { layer, steps, resets };
};

export const reach: Task = {
  tag: "Reach",
  kind: "corridor",
  instruction: "Walk to the end.",
  isCustom: false,
  legend: "",
  wholeAnswer: false,
  wholeRewards: false,
  actionsInState: false,
  maxActions: 4,
  maxTokens: 100,
  memory: "simple",
};

export const limits: Rollout["limits"] = {
  template: "ragen",
  enable_think: true,
  max_turn: 3,
  max_actions_per_turn: 2,
  action_sep: "||",
  context: "full",
  max_context_window: -1,
  overflow: "end",
  summary: "none",
  summary_length: 20,
  train_summary: false,
  max_model_len: 10_000,
  response_length: 100,
  enable_response_mask: true,
};

export const penalties: Rollout["penalties"] = {
  format_penalty: -0.1,
  step_penalty: 0,
  think_quality_penalty: 0,
  think_len_penalty: 0,
  think_len_limit: -1,
  think_coord_fmt_penalty: 0,
};

export const rollout = (changes: Partial<Rollout["limits"]> = {}, task: Task = reach): Rollout => {
  const merged = { ...limits, ...changes };
  return {
    tasks: new Map([[task.tag, task]]),
    template: templates[merged.template]({ think: merged.enable_think, separator: merged.action_sep }),
    chat,
    decode,
    pieces: (ids) => Array.from(ids, (id) => decode([id])),
    limits: merged,
    penalties,
    seed: 7,
  };
};

export const training: PlayMode = {
  split: "train",
  sampling: { temperature: 1, topK: -1, topP: 1 },
  pin: null,
  isExcluded: () => false,
  wrapEpisode: identity,
};

export const prompt = promptOf(3, 2, { tag: "Reach", seed: 10_003 });
