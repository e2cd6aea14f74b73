import { describe, it } from "@effect/vitest";
import { Effect, Schema } from "effect";
import { expect } from "vitest";
import type { TokenBatch } from "../../../src/domain/Batch.ts";
import { type Episode, sampledTokens, totalTokens, turnsOf } from "../../../src/domain/Episode.ts";
import { stream } from "../../../src/domain/Random.ts";
import { bind } from "../../../src/env/contract/BoundEnvironment.ts";
import type { BaseInfo } from "../../../src/env/contract/Environment.ts";
import { Environments } from "../../../src/env/contract/Environments.ts";
import type { Request } from "../../../src/env/contract/Request.ts";
import { answer } from "../../../src/env/pool/answer.ts";
import { Policy } from "../../../src/generation/Policy.ts";
import type { CloningReport } from "../../../src/learner/CloningUpdate.ts";
import * as ChatTemplate from "../../../src/model/tokenizer/ChatTemplate.ts";
import { nanoTokenizer } from "../../../src/model/tokenizer/NanoVocabulary.ts";
import * as Tokenizer from "../../../src/model/tokenizer/Tokenizer.ts";
import * as EpisodeProgram from "../../../src/rollout/episode.ts";
import * as Rollout from "../../../src/rollout/Rollout.ts";
import { fromPreset } from "../../../src/rollout/Task.ts";
import * as Cloning from "../../../src/tools/cloning/Cloning.ts";
import {
  type Demonstrator,
  demonstrate as demonstrated,
  type Source,
} from "../../../src/tools/cloning/Demonstration.ts";
import { heldOut } from "../../../src/tools/cloning/heldOut.ts";
import { reachConfig } from "../../build/config.ts";
import { promptOf } from "../../build/groups.ts";
import { preset, presets } from "../../env/contract/presets.ts";

const seed = 5;

const sourceOf = (tag: string, player: Source["player"] = "solver"): Source => {
  const environment = preset(tag);
  return { environment, player, mistakes: 0, task: fromPreset(tag, presets[tag]!, environment) };
};

const demonstratorOf = Effect.fnUntraced(function* (source: Source, rollout: object, noise = 0) {
  const tokenizer = yield* Tokenizer.make(nanoTokenizer());
  const config = reachConfig({ rollout: { max_model_len: 4000, response_length: 200, ...rollout } });
  const chat = yield* ChatTemplate.make(tokenizer);
  const demonstrator: Demonstrator = {
    rollout: Rollout.make(config, [source.task], chat, tokenizer),
    tokenizer,
    noise,
    seed,
    excluded: () => false,
  };
  return { demonstrator, tokenizer, mode: Rollout.trainingMode(config, new Set()) };
});

/** A demonstration by an environment that must not fail. */
const demonstrate = (...given: Parameters<typeof demonstrated>): Episode | null => {
  const shown = demonstrated(...given);
  if (shown !== null && "_tag" in shown) throw new Error(shown.message);
  return shown;
};

/** A tool that is asked once, then the answer: two whole answers, each one action. */
const calculatorSource = (): Source => {
  const info = (success: boolean) => ({ success, action_is_effective: true, action_is_valid: true });
  const environment = bind<object, number, BaseInfo>(
    {
      type: "calculator",
      config: Schema.Struct({}),
      reset: () => 0,
      step: (_config, calls, action) => {
        const success = calls > 0 && action === "34";
        return {
          state: calls + 1,
          reward: success ? 1 : 0,
          terminated: success,
          truncated: false,
          info: info(success),
        };
      },
      render: (_config, calls) => `asked ${calls} times`,
      compact: (_config, calls) => `${calls}`,
      actions: () => null,
      wholeAnswer: true,
      legend: () => "",
      solve: (_config, calls) => (calls === 0 ? ["calc[4 * 6 + 5]", "34"] : ["34"]),
      contentKey: () => "calculator",
    },
    {},
  );
  const task = fromPreset("Calculator", { ...presets.Countdown!, max_actions_per_traj: 4 }, environment);
  return { environment, player: "solver", mistakes: 0, task };
};

const joined = (parts: readonly Int32Array[]): readonly number[] => parts.flatMap((part) => Array.from(part));

/** Plays the instance of demonstration `number` under a policy. */
const rolledOut = Effect.fnUntraced(function* (
  source: Source,
  { demonstrator, mode }: { readonly demonstrator: Demonstrator; readonly mode: Rollout.PlayMode },
  number: number,
  policy: typeof Policy.Service,
) {
  const { tag } = source.task;
  const bound = new Map([[tag, source.environment]]);
  const key = { seed, counters: [number] };
  const ask = (request: Request) => Effect.sync(() => answer(bound, request));
  const view = answer(bound, {
    _tag: "Reset",
    reset: { tag, split: "train", instance: { seed, purpose: "cloning", counters: [number, 0] } },
  });
  if (view._tag !== "View") throw new Error("no instance");
  const environments = Environments.of({
    reset: () => Effect.die("not asked"),
    release: () => Effect.void,
    step: (step) =>
      Effect.flatMap(
        ask({
          _tag: "Step",
          step: { ...step, noise: { ...key, purpose: "noise", counters: [number, step.noise.counters[2]!] } },
        }),
        (answered) => (answered._tag === "Stepped" ? Effect.succeed(answered.result) : Effect.die(answered)),
      ),
  });
  const prompt = promptOf(0, 1, { tag });
  const start = EpisodeProgram.start(demonstrator.rollout, source.task, 0, view.view);
  return yield* EpisodeProgram.play(demonstrator.rollout, mode, prompt, start, 0).pipe(
    Effect.provideService(Policy, policy),
    Effect.provideService(Environments, environments),
  );
});

describe("a demonstration", () => {
  const cases = [
    { tag: "FrozenLake", template: "compact", noise: 0 },
    { tag: "FrozenLake", template: "ragen", noise: 0.3 },
    { tag: "SimpleSokoban", template: "compact", noise: 0.3 },
    { tag: "SimpleSokoban", template: "ragen", noise: 0 },
    { tag: "game_2048", template: "compact", noise: 0.3 },
    // Free text: there is nothing to draw noise from.
    { tag: "Countdown", template: "compact", noise: 0.3 },
  ];

  it.effect.each(cases)(
    "is what a rollout shows a policy that replies the same: $tag, $template, noise $noise",
    (given) =>
      Effect.gen(function* () {
        const source = sourceOf(given.tag);
        const setup = yield* demonstratorOf(source, { template: given.template }, given.noise);
        const { demonstrator, tokenizer } = setup;
        let turns = 0;
        for (let number = 0; number < 8; number++) {
          const episode = demonstrate(demonstrator, source, number);
          if (episode === null) continue;
          const whole = joined(turnsOf(episode).flatMap(({ prompt, sampled }) => [prompt, sampled.ids]));
          turns += turnsOf(episode).length;

          // The policy reads its replies off the demonstration, and fails the test where it was shown anything else.
          let at = 0;
          const policy = Policy.of({
            generate: ({ append }) =>
              Effect.sync(() => {
                if (at < whole.length) expect(Array.from(append)).toEqual(whole.slice(at, at + append.length));
                at += append.length;
                let end = at;
                while (end < whole.length && !tokenizer.decode(whole.slice(at, end)).includes("</answer>")) end++;
                const ids = Int32Array.from(whole.slice(at, end));
                at = end;
                const zeros = new Int32Array(ids.length);
                const floats = new Float32Array(ids.length);
                return { ids, mu: floats, versions: zeros, entropies: floats, finish: "stop" as const };
              }),
            release: () => Effect.void,
            version: Effect.succeed(0),
            awaitVersion: () => Effect.void,
            hold: Effect.succeed(0),
            gauges: Effect.die("not asked"),
          });
          const rollout = yield* rolledOut(source, setup, number, policy);
          const shown = joined(turnsOf(rollout).flatMap(({ prompt, sampled }) => [prompt, sampled.ids]));
          expect(shown.slice(0, whole.length)).toEqual(whole);
          if (given.noise === 0) {
            expect(turnsOf(rollout).map(({ actions, executed, reward }) => [actions, executed, reward])).toEqual(
              turnsOf(episode).map(({ actions, executed, reward }) => [actions, executed, reward]),
            );
            expect(turnsOf(rollout).map(({ parsed }) => parsed)).toEqual(turnsOf(episode).map(({ parsed }) => parsed));
            expect(rollout.outcome).toEqual(episode.outcome);
          }
        }
        expect(turns).toBeGreaterThanOrEqual(8);
      }),
  );

  it.effect.each([
    { tag: "SimpleSokoban", template: "compact", context: "limited_multi_turn", max_context_window: 2 },
    { tag: "SimpleSokoban", template: "ragen", context: "single_turn", max_context_window: 3, summary: "facts" },
  ] as const)("is what a rollout shows in the turn-level modes, too: $context", ({ tag, ...limits }) =>
    Effect.gen(function* () {
      const source = sourceOf(tag);
      const setup = yield* demonstratorOf(source, { ...limits, max_actions_per_turn: 1, max_turn: 6 });
      let sequences = 0;
      for (let number = 0; number < 8; number++) {
        const episode = demonstrate(setup.demonstrator, source, number);
        if (episode === null) continue;
        const turns = [...turnsOf(episode)];
        let chat: readonly number[] = [];
        const policy = Policy.of({
          generate: ({ append }) =>
            Effect.sync(() => {
              const { prompt, sampled } = turns.shift()!;
              expect([...chat, ...append]).toEqual([...prompt]);
              chat = [...prompt, ...sampled.ids];
              return sampled;
            }),
          release: () =>
            Effect.sync(() => {
              chat = [];
            }),
          version: Effect.succeed(0),
          awaitVersion: () => Effect.void,
          hold: Effect.succeed(0),
          gauges: Effect.die("not asked"),
        });
        const rollout = yield* rolledOut(source, setup, number, policy);
        const shown = ({ sequences }: Episode) => sequences.map(({ turns }) => turns.map(({ prompt }) => [...prompt]));
        expect(shown(rollout)).toEqual(shown(episode));
        sequences = Math.max(sequences, episode.sequences.length);
      }
      expect(sequences).toBeGreaterThan(3);
    }),
  );

  it.effect("has the solver's replies as its only targets: turns of noise lie in the next prompt", () =>
    Effect.gen(function* () {
      const source = sourceOf("SimpleSokoban");
      const { demonstrator, tokenizer } = yield* demonstratorOf(source, { template: "compact" }, 0.5);
      let hidden = 0;
      for (let number = 0; number < 20; number++) {
        const episode = demonstrate(demonstrator, source, number);
        for (const { prompt, sampled, reply } of episode === null ? [] : turnsOf(episode)) {
          expect(demonstrator.rollout.template.prefix + tokenizer.decode(sampled.ids)).toBe(reply);
          hidden += tokenizer.decode(prompt).split("</answer>").length - 1;
        }
      }
      expect(hidden).toBeGreaterThan(5);
    }),
  );

  it.effect("errs as often as it is told to, and shows its mistakes as targets", () =>
    Effect.gen(function* () {
      const source = sourceOf("SimpleSokoban");
      const optimal = Effect.fnUntraced(function* (mistakes: number) {
        const { demonstrator } = yield* demonstratorOf(source, { template: "compact" });
        const erring = { ...source, mistakes };
        const episodes = Array.from({ length: 200 }, (_, n) => demonstrate(demonstrator, erring, n)).filter(
          (e) => e !== null,
        );
        const firsts = episodes.map((episode) => {
          const n = episode.seed;
          const [first] = turnsOf(episode);
          const state = source.environment.reset(stream({ seed, purpose: "cloning", counters: [n, 0] }), "train");
          const plan = source.environment.solve!(state)!.slice(0, 2).join();
          return first?.actions.join() === plan ? 1 : 0;
        });
        return firsts.reduce((sum: number, first) => sum + first, 0) / firsts.length;
      });
      expect(yield* optimal(0)).toBe(1);
      // A random pair of actions is the solver's one time in sixteen, a single one more often.
      expect(yield* optimal(0.5)).toBeGreaterThan(0.42);
      expect(yield* optimal(0.5)).toBeLessThan(0.65);
    }),
  );

  it.effect("solves what a solver plays", () =>
    Effect.gen(function* () {
      const source = sourceOf("SimpleSokoban");
      const { demonstrator } = yield* demonstratorOf(source, { template: "compact", max_turn: 10 });
      const episodes = Array.from({ length: 10 }, (_, number) => demonstrate(demonstrator, source, number));
      const long = episodes.filter((episode) => episode !== null && episode.outcome._tag === "Done");
      expect(long.length).toBeGreaterThanOrEqual(7);
    }),
  );

  it.effect("stops where a rollout would have no room for a reply", () =>
    Effect.gen(function* () {
      const source = sourceOf("FrozenLake");
      const open = yield* demonstratorOf(source, { template: "compact" });
      const demonstratedTurns = (...call: Parameters<typeof demonstrate>) => {
        const episode = demonstrate(...call);
        return episode === null ? [] : turnsOf(episode);
      };
      const first = Array.from({ length: 30 }, (_, number) => number).find(
        (number) => demonstratedTurns(open.demonstrator, source, number).length >= 2,
      )!;
      const [turn] = demonstratedTurns(open.demonstrator, source, first);
      const room = turn!.prompt.length + 200;
      const tight = yield* demonstratorOf(source, { template: "compact", max_model_len: room });
      expect(demonstratedTurns(tight.demonstrator, source, first)).toHaveLength(1);
      const none = yield* demonstratorOf(source, { template: "compact", response_length: 3 });
      expect(demonstrate(none.demonstrator, source, first)).toBeNull();
    }),
  );

  it.effect("counts the ids of noise once: it needs no more room than a rollout of the same length", () =>
    Effect.gen(function* () {
      const source = sourceOf("SimpleSokoban");
      const open = yield* demonstratorOf(source, { template: "compact" }, 0.5);
      let withNoise = 0;
      for (let number = 0; number < 20; number++) {
        const episode = demonstrate(open.demonstrator, source, number);
        const turns = episode === null ? [] : turnsOf(episode);
        if (turns.length === 0) continue;
        const shown = turns.reduce((sum, { prompt }) => sum + prompt.length, 0);
        const replied = turns.slice(0, -1).reduce((sum, { sampled }) => sum + sampled.ids.length, 0);
        const exact = yield* demonstratorOf(source, { template: "compact", max_model_len: shown + replied + 200 }, 0.5);
        const again = demonstrate(exact.demonstrator, source, number);
        expect(again === null ? [] : turnsOf(again)).toEqual(turns);
        if (turns.some(({ prompt }) => open.tokenizer.decode(prompt).includes("</answer>"))) withNoise++;
      }
      expect(withNoise).toBeGreaterThan(5);
    }),
  );

  it.effect("is the failure of an environment that throws, which costs no other", () =>
    Effect.gen(function* () {
      const source = sourceOf("FrozenLake");
      const { demonstrator } = yield* demonstratorOf(source, { template: "compact" });
      const throwing = (broken: Partial<Source["environment"]>) => ({
        ...source,
        environment: { ...source.environment, ...broken },
        episodes: 3,
      });
      const cracked = () => {
        throw new Error("the ice is cracked");
      };
      for (const broken of [throwing({ reset: cracked }), throwing({ step: cracked })]) {
        const { episodes, failures } = yield* Cloning.demonstrations(demonstrator, [
          broken,
          { ...source, episodes: 3 },
        ]);
        expect(failures.map(({ message }) => message)).toEqual(Array(3).fill("the ice is cracked"));
        expect(episodes.length).toBe(3);
      }
    }),
  );

  it.effect("is a pure function of the seed, the source and its number", () =>
    Effect.gen(function* () {
      const source = sourceOf("FrozenLake");
      const { demonstrator } = yield* demonstratorOf(source, { template: "compact" }, 0.2);
      const ids = (demonstrator: Demonstrator) =>
        [3, 4, 5].map((number) => {
          const episode = demonstrate(demonstrator, source, number);
          return episode === null ? null : joined(turnsOf(episode).map(({ prompt }) => prompt));
        });
      expect(ids(demonstrator)).toEqual(ids(demonstrator));
      expect(ids({ ...demonstrator, seed: seed + 1 })).not.toEqual(ids(demonstrator));
    }),
  );
});

describe("a demonstration is read as a reply is", () => {
  const calculator = calculatorSource();

  it.effect("where the environment takes whole answers, a turn is one action of the plan", () =>
    Effect.gen(function* () {
      const { demonstrator } = yield* demonstratorOf(calculator, { template: "ragen", max_actions_per_turn: 5 });
      const episode = demonstrate(demonstrator, calculator, 0);
      expect(turnsOf(episode!).map(({ actions }) => actions)).toEqual([["calc[4 * 6 + 5]"], ["34"]]);
      expect(turnsOf(episode!).map(({ reply }) => reply)).toEqual([
        "<think></think><answer>calc[4 * 6 + 5]</answer>",
        "<think></think><answer>34</answer>",
      ]);
      expect(episode!.outcome).toEqual({ _tag: "Done", success: true });
    }),
  );

  it.effect.each([
    { name: "a separator in an action", environment: { wholeAnswer: false }, action: "calc[a || b]" },
    { name: "an end tag in an action", environment: {}, action: "calc[</answer>]" },
    { name: "an action that is not legal", environment: { actions: () => ["34"] }, action: "calc[4]" },
    { name: "a thought that answers", environment: { thought: () => "</think><answer>9</answer>" }, action: "34" },
    { name: "an empty action", environment: {}, action: " " },
  ])("one that reads as something else is refused: $name", ({ action, environment: changed }) =>
    Effect.gen(function* () {
      const environment = { ...calculator.environment, solve: () => [action], ...changed };
      const task = { ...calculator.task, wholeAnswer: environment.wholeAnswer };
      const source = { ...calculator, task, environment };
      const { demonstrator } = yield* demonstratorOf(source, { template: "ragen" });
      const refused = demonstrated(demonstrator, source, 0);
      expect(refused).toMatchObject({ _tag: "Refusal", message: expect.stringContaining(JSON.stringify(action)) });
      const { episodes, failures } = yield* Cloning.demonstrations(demonstrator, [{ ...source, episodes: 2 }]);
      expect([episodes.length, failures.length]).toEqual([0, 2]);
    }),
  );

  it.effect("an episode that a limit cuts has that outcome", () =>
    Effect.gen(function* () {
      const { demonstrator } = yield* demonstratorOf(calculator, { template: "ragen", max_turn: 1 });
      const cut = demonstrate(demonstrator, calculator, 0);
      expect(cut?.outcome).toEqual({ _tag: "Truncated", reason: "max_turn", success: false });
      const spent = { ...calculator, task: { ...calculator.task, maxActions: 1 } };
      const short = yield* demonstratorOf(spent, { template: "ragen" });
      const outcome = { _tag: "Truncated", reason: "max_actions", success: false };
      expect(demonstrate(short.demonstrator, spent, 0)?.outcome).toEqual(outcome);
    }),
  );
});

describe("held-out instances", () => {
  it.effect("are the validation's, by content, and are never shown", () =>
    Effect.gen(function* () {
      const source = sourceOf("FrozenLake");
      const val = { seed: 123, env_groups: 40 };
      const excluded = heldOut([source], val);
      expect(excluded.size).toBeGreaterThan(30);
      for (let group = 0; group < val.env_groups; group++) {
        const instance = stream({ seed: val.seed + group, purpose: "instance", counters: [] });
        expect(excluded.has(source.environment.contentKey(source.environment.reset(instance, "val")))).toBe(true);
      }
      const { demonstrator } = yield* demonstratorOf(source, { template: "compact" });
      const keyOf = (number: number) => {
        const instance = stream({ seed, purpose: "cloning", counters: [number, 0] });
        return source.environment.contentKey(source.environment.reset(instance, "train"));
      };
      const without = { ...demonstrator, excluded: (key: string) => key === keyOf(2) };
      expect(demonstrate(demonstrator, source, 2)).not.toBeNull();
      expect(demonstrate(without, source, 2)).toBeNull();
      const shown = (yield* Cloning.demonstrations(without, [{ ...source, episodes: 6 }])).episodes.map(
        ({ seed }) => seed,
      );
      expect(shown).not.toContain(2);
    }),
  );

  it("leave random play alone", () => {
    expect(heldOut([sourceOf("Bandit", "random")], { seed: 123, env_groups: 4 }).size).toBe(0);
  });
});

describe("batches", () => {
  it.effect("are the same at the same seed, of one size, and take every episode about equally often", () =>
    Effect.gen(function* () {
      const source = sourceOf("FrozenLake");
      const { demonstrator } = yield* demonstratorOf(source, { template: "compact" });
      const { episodes } = yield* Cloning.demonstrations(demonstrator, [{ ...source, episodes: 30 }]);
      const take = (seed: number) => {
        const batches = Cloning.batches(episodes, 4, seed);
        const epoch = Math.floor(episodes.length / 4);
        return Array.from({ length: 10 * epoch }, () => batches.next().value.map(({ seed }) => seed));
      };
      const drawn = take(1);
      expect(drawn).toEqual(take(1));
      expect(drawn).not.toEqual(take(2));
      expect(drawn.every((batch) => batch.length === 4)).toBe(true);
      // Ten epochs, each of which leaves out what does not fill a batch.
      expect(episodes.length % 4).toBeGreaterThan(0);
      const uses = episodes.map(({ seed }) => drawn.flat().filter((number) => number === seed).length);
      expect(Math.max(...uses)).toBeLessThanOrEqual(10);
      expect(Math.min(...uses)).toBeGreaterThanOrEqual(7);
    }),
  );

  it.effect("hold episodes of similar length, so that little of one is padding", () =>
    Effect.gen(function* () {
      const source = sourceOf("FrozenLake");
      const { demonstrator } = yield* demonstratorOf(source, { template: "compact" });
      const { episodes } = yield* Cloning.demonstrations(demonstrator, [{ ...source, episodes: 64 }]);
      const batches = Cloning.batches(episodes, 8, 0);
      const spread = (group: readonly Episode[]) => {
        const lengths = group.map(totalTokens);
        return Math.max(...lengths) - Math.min(...lengths);
      };
      const mean = Array.from({ length: 6 }, () => spread(batches.next().value)).reduce((a, b) => a + b) / 6;
      expect(mean).toBeLessThan(spread(episodes) / 2);
      expect(episodes.every((episode) => sampledTokens(episode) > 0)).toBe(true);
    }),
  );

  it.effect.each([
    { save_freq: 2, from: 0, stopAfter: 9, saved: [2, 4, 5], steps: [1, 2, 3, 4, 5] },
    { save_freq: 0, from: 0, stopAfter: 9, saved: [5], steps: [1, 2, 3, 4, 5] },
    { save_freq: 0, from: 0, stopAfter: 3, saved: [3], steps: [1, 2, 3] },
    { save_freq: 2, from: 3, stopAfter: 9, saved: [4, 5], steps: [4, 5] },
  ])("are saved every $save_freq steps and last, from $from, stopped after $stopAfter", (given) =>
    Effect.gen(function* () {
      const source = sourceOf("FrozenLake");
      const { demonstrator } = yield* demonstratorOf(source, { template: "compact" });
      const { episodes } = yield* Cloning.demonstrations(demonstrator, [{ ...source, episodes: 16 }]);
      const base = reachConfig();
      const config = { ...base, sft: { ...base.sft, steps: 5, batch_size: 4, save_freq: given.save_freq } };
      const [steps, saved, windows]: [number[], number[], number[]] = [[], [], []];
      const learner = {
        clone: (batch: TokenBatch) =>
          Effect.sync(() => {
            windows.push(batch.window);
            return { loss: 1, gradNorm: 1, tokens: 1, applied: true, notFinite: null };
          }),
      };
      const lastStep = yield* Cloning.clone(learner, episodes, config, {
        from: { step: given.from, skipped: null },
        stopped: Effect.sync(() => steps.at(-1) === given.stopAfter),
        report: ({ step }) => Effect.sync(() => void steps.push(step)),
        save: ({ step }) => Effect.sync(() => void saved.push(step)),
      });
      expect(steps).toEqual(given.steps);
      expect(windows).toEqual(given.steps.map((step) => step - 1));
      expect(saved).toEqual(given.saved);
      expect(lastStep).toBe(given.steps.at(-1));
    }),
  );

  it.effect(
    "end with a failure and a checkpoint after trainer.max_skipped_updates that were not applied in a row",
    () =>
      Effect.gen(function* () {
        const source = sourceOf("FrozenLake");
        const { demonstrator } = yield* demonstratorOf(source, { template: "compact" });
        const { episodes } = yield* Cloning.demonstrations(demonstrator, [{ ...source, episodes: 16 }]);
        const base = reachConfig({ trainer: { max_skipped_updates: 3 } });
        const config = { ...base, sft: { ...base.sft, steps: 9, batch_size: 4, save_freq: 0 } };
        const learnerOf = (poisoned: (step: number) => boolean) => ({
          clone: ({ window }: TokenBatch) =>
            Effect.sync((): CloningReport => {
              const notFinite = poisoned(window + 1) ? "gradient" : null;
              return { loss: 1, gradNorm: 1, tokens: 1, applied: notFinite === null, notFinite };
            }),
        });
        const saved: Cloning.CloningProgress[] = [];
        const surroundings = (from: Cloning.CloningProgress) => ({
          from,
          stopped: Effect.succeed(false),
          report: () => Effect.void,
          save: (progress: Cloning.CloningProgress) => Effect.sync(() => void saved.push(progress)),
        });
        const clone = (poisoned: (step: number) => boolean, from: Cloning.CloningProgress) =>
          Cloning.clone(learnerOf(poisoned), episodes, config, surroundings(from));

        const failure = yield* Effect.flip(clone((step) => step === 1 || step > 2, { step: 0, skipped: null }));
        expect([failure._tag, failure.reason]).toEqual(["LearnerError", "not_finite"]);
        expect(failure.message).toContain("3 updates in a row, from step 3 on, could not be applied");
        expect(saved).toEqual([{ step: 5, skipped: { since: 3, count: 3 } }]);

        // The count of a run that was stopped in such a row goes on.
        const again = yield* Effect.flip(clone(() => true, { step: 4, skipped: { since: 3, count: 2 } }));
        expect(again.message).toContain("3 updates in a row, from step 3 on,");
        expect(yield* clone(() => false, { step: 5, skipped: { since: 3, count: 3 } })).toBe(9);
        expect(saved.at(-1)).toEqual({ step: 9, skipped: null });
      }),
  );

  it("warm up, then decay to a tenth", () => {
    const sft = { ...reachConfig().sft, lr: 1, lr_warmup_steps: 10, steps: 100 };
    expect(Cloning.learningRate(sft, 1)).toBeCloseTo(0.1 * (1 - 0.009));
    expect(Cloning.learningRate(sft, 10)).toBeCloseTo(0.91);
    expect(Cloning.learningRate(sft, 100)).toBeCloseTo(0.1);
  });
});
