/**
 * `millrace prompt`: what the model of a run is shown of one episode, turn by turn, after replies that somebody else wrote: `--actions`, the
 * environment's solver or adviser, or chance. The model's weights are not read.
 */
import { Effect } from "effect";
import { playedTags } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { stream } from "../src/domain/Random.ts";
import type { AnyEnvironment } from "../src/env/contract/BoundEnvironment.ts";
import * as StepPool from "../src/env/pool/StepPool.ts";
import { randomAction } from "../src/env/validate/players.ts";
import { splitActions } from "../src/env/validate/trace.ts";
import { isAdapter, readBase } from "../src/model/checkpoint/PeftFolder.ts";
import * as Model from "../src/model/Model.ts";
import type { ToolDialogue } from "../src/rollout/Dialogue.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { tasksOf } from "../src/rollout/Task.ts";
import { openToolDialogues } from "../src/rollout/tools/openToolDialogues.ts";
import { planOf, replyText } from "../src/tools/cloning/Demonstration.ts";
import { boundEnvironments } from "./presets.ts";
import { showEpisode, type Writer } from "./promptEpisode.ts";
import { promptJson, promptText } from "./promptLines.ts";

export interface PromptOptions {
  readonly config: RunConfig;
  /** Null takes the first of training. */
  readonly tag: string | null;
  /** Seed of the instance; null takes the first of training. */
  readonly seed: number | null;
  /** Each item holds the actions of one reply: several separated by `||`, or one whole answer. */
  readonly actions: readonly string[];
  readonly json: boolean;
}

/** Writes the reply that takes actions, without the prefix. */
type ReplyWriter = (thought: string, actions: readonly string[]) => Effect.Effect<string, string>;

const textWriter =
  (rollout: Rollout.Rollout): ReplyWriter =>
  (thought, actions) =>
    Effect.succeed(replyText(rollout, thought, actions).slice(rollout.template.prefix.length));

const toolWriter =
  (rollout: Rollout.Rollout, dialogue: ToolDialogue): ReplyWriter =>
  (thought, actions) =>
    dialogue.write(rollout, actions, thought);

/** The replies of `--actions`, one after the other. */
const givenWriter =
  (write: ReplyWriter, isWhole: boolean, actions: readonly string[]): Writer =>
  (_view, turn) => {
    const given = actions[turn - 1];
    if (given === undefined) return Effect.succeed(null);
    const reply = write("", isWhole ? [given] : splitActions(given));
    return Effect.map(reply, (text) => ({ text, author: "--actions" }));
  };

/** One action a reply, so that many turns are seen: the solver's or the adviser's next one, else a random one. */
const playerWriter = (write: ReplyWriter, environment: AnyEnvironment, seed: number): Writer => {
  const random = stream({ seed, purpose: "play", counters: [0] });
  const guess = randomAction(environment);
  return ({ state }) => {
    const plan = environment.asynchronous ? null : planOf(environment, state);
    const first = plan?.[0];
    const action = first ?? guess(state, random);
    if (action === null) return Effect.succeed(null);
    const thought = environment.asynchronous ? "" : environment.thought(state, plan ?? [action]);
    const author = first === undefined ? "chance" : "the environment's solver or adviser";
    return Effect.map(write(thought, [action]), (text) => ({ text, author }));
  };
};

/** Tokenizer and chat template of the model in `folder`, or of the base of an adapter there. */
const described = Effect.fnUntraced(function* (folder: string) {
  if (!(yield* isAdapter(folder))) return yield* Model.loadWithoutWeights(folder);
  return yield* Model.loadWithoutWeights(
    yield* Effect.mapError(readBase(folder), ({ message }) => new BadInput({ message })),
  );
});

/** Lines about the episode. Fails with BadInput where the preset or the model cannot be used. */
export const prompt = Effect.fn("pipelines.prompt")(function* (options: PromptOptions) {
  const { actions, config, json } = options;
  const { train } = config.es_manager;
  const tag = options.tag ?? playedTags(config, "train")[0] ?? "";
  const seed = options.seed ?? train.seed;
  const environments = yield* boundEnvironments(config, [tag]);
  const { chat, tokenizer } = yield* described(config.model.path);
  const tasks = tasksOf(config.custom_envs, environments);
  const toolDialogues = yield* openToolDialogues(config, tasks, tokenizer);
  const rollout = { ...Rollout.make(config, tasks, chat, tokenizer), toolDialogues };
  const environment = environments.get(tag)!;
  const dialogue = toolDialogues.get(tag);
  const write = dialogue === undefined ? textWriter(rollout) : toolWriter(rollout, dialogue);
  const writer =
    actions.length > 0 ? givenWriter(write, environment.wholeAnswer, actions) : playerWriter(write, environment, seed);
  const mode = Rollout.trainingMode(config, new Set());
  const group = { group: 0, tag, seed, size: 1, admittedAt: 0 };
  const shown = yield* Effect.provide(
    showEpisode(rollout, tokenizer, mode, group, writer),
    StepPool.layerInline(environments),
  );
  const instruction = rollout.tasks.get(tag)?.instruction ?? "";
  const subject = { config, tag, seed, instruction, model: config.model.path };
  return json ? promptJson(subject, shown) : promptText(subject, shown);
}, Effect.scoped);
