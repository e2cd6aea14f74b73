/**
 * Prepares the player of an evaluation: a checkpoint with its generator threads, or a chat endpoint with its key. Both
 * become a list of works that give finished episodes.
 */
import { Context, Effect, Redacted, type Scope } from "effect";
import { isAgentTag } from "../src/config/agentForms.ts";
import { groupsOf } from "../src/config/levels.ts";
import { cacheRows } from "../src/config/maxPermits.ts";
import type { Checkpoint, Endpoint, Player } from "../src/config/players.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import type { Version } from "../src/domain/Episode.ts";
import { BadInput, type EnvironmentError, type PolicyError } from "../src/domain/Errors.ts";
import type { Group, Prompt } from "../src/domain/Group.ts";
import { openAgentByEndpoint, openAgents } from "../src/engine/agents.ts";
import * as Backend from "../src/engine/Backend.ts";
import { Environments, type View } from "../src/env/contract/Environments.ts";
import type { RunEnvironments } from "../src/env/pool/layer.ts";
import { Policy } from "../src/generation/Policy.ts";
import * as Model from "../src/model/Model.ts";
import type { RunFolder } from "../src/observe/record/RunFolder.ts";
import * as Sampled from "../src/observe/record/sampled.ts";
import * as Trajectories from "../src/observe/record/Trajectories.ts";
import * as GroupProgram from "../src/rollout/group.ts";
import * as Rollout from "../src/rollout/Rollout.ts";
import { templates } from "../src/rollout/Rollout.ts";
import * as Seeds from "../src/rollout/seeds.ts";
import type { Task } from "../src/rollout/Task.ts";
import type { Template } from "../src/rollout/Template.ts";
import { meter, minus, nothing, type Prices } from "../src/tools/endpoints/Budget.ts";
import type { EndpointStopped, Usage } from "../src/tools/endpoints/Chat.ts";
import * as ChatClient from "../src/tools/endpoints/ChatClient.ts";
import type { TextRollout } from "../src/tools/endpoints/play.ts";
import { play } from "../src/tools/endpoints/play.ts";
import { agentEpisodesOf, episodesOf } from "../src/tools/evaluation/chats.ts";
import { type EvaluatedEpisode, promptTokensOf, tokensOf } from "../src/tools/evaluation/EvaluatedEpisode.ts";
import type { NotPlayed } from "../src/tools/evaluation/NotPlayed.ts";
import type { Standing, Work } from "../src/tools/evaluation/Session.ts";
import { loadPlayedModel } from "./playedModel.ts";
import { samplerOf } from "./sampler.ts";

/** A rollout without a tokenizer: the tasks, texts and limits of a run file. */
const textRollout = (config: RunConfig, tasks: Iterable<Task>): TextRollout => ({
  tasks: new Map(Array.from(tasks, (task) => [task.tag, task])),
  template: templates[config.rollout.template]({
    think: config.rollout.enable_think,
    separator: config.rollout.action_sep,
  }),
  limits: config.rollout,
  penalties: config.es_manager,
  seed: config.run.seed,
});

export type PlayerError = BadInput | PolicyError | EnvironmentError | EndpointStopped;

/** The usage of a session that its finished episodes do not show. */
export interface SessionUsage {
  readonly requests: number;
  readonly retries: number;
  /** By episodes that were not finished, and tokens that no finished episode has. */
  readonly lost: Usage;
}

export interface PreparedPlayer {
  /** The name at the endpoint, or the checkpoint's folder. */
  readonly model: string;
  /** `checkpoint`, or the endpoint's protocol. */
  readonly kind: string;
  readonly template: Template;
  readonly tasks: Iterable<Task>;
  readonly works: readonly Work<PlayerError, Environments>[];
  readonly concurrency: number;
  readonly admits: (standing: Standing) => boolean;
  readonly used: (standing: Standing) => SessionUsage;
  /** USD per million tokens; null where no price is set. */
  readonly prices: Prices | null;
  /** Writes what is left to write once the session has ended. */
  readonly close: (folder: typeof RunFolder.Service) => Effect.Effect<void, BadInput>;
}

const usage = (episode: EvaluatedEpisode): Usage => ({ prompt: promptTokensOf(episode), reply: tokensOf(episode) });

/** Tokens that finished episodes used. */
export const usageOf = (episodes: readonly EvaluatedEpisode[]): Usage => meter(usage)(episodes).sum;

const keysOf = ({ group, seed, size, tag }: Prompt) =>
  Array.from({ length: size }, (_, member) => ({ group, tag, seed, member }));

/** The environments, which call `onView` with every view that a reset returns. */
const withViews = (environments: typeof Environments.Service, onView: (view: View) => void) =>
  Environments.of({
    ...environments,
    reset: (request) => Effect.tap(environments.reset(request), (view) => Effect.sync(() => onView(view))),
  });

/** Plays a prompt by a pinned version. */
const groupWork = (
  rollout: Rollout.Rollout,
  policy: typeof Policy.Service,
  version: Version,
  config: RunConfig,
  prompt: Prompt,
  onGroup: (group: Group) => void,
): Work<PlayerError, Environments> => ({
  keys: keysOf(prompt),
  play: Effect.gen(function* () {
    const environments = yield* Environments;
    const views: View[] = [];
    const watchedEnvironments = withViews(environments, (view) => void views.push(view));
    const mode = Rollout.validationMode(config, version);
    const group = yield* GroupProgram.play(rollout, mode, prompt).pipe(
      Effect.provideContext(Context.make(Policy, policy).pipe(Context.add(Environments, watchedEnvironments))),
    );
    onGroup(group);
    if (rollout.players?.has(prompt.tag) === true) return agentEpisodesOf(group);
    const task = rollout.tasks.get(prompt.tag);
    const [view] = views;
    const { template } = rollout;
    return episodesOf(group, view === undefined || task === undefined ? null : { template, task, view });
  }),
});

const prepareCheckpoint = Effect.fnUntraced(function* (
  config: RunConfig,
  { path }: Checkpoint,
  environments: RunEnvironments,
  folder: string,
) {
  const model = yield* loadPlayedModel(config, path);
  yield* Model.checkContext(config, model);
  const { policy, prices, used } = yield* samplerOf(config, model, folder);
  const version = yield* policy.hold;
  const players = yield* openAgents(config, model);
  const rollout = yield* Backend.makeRollout(config, model, environments.texts, players);
  const val = groupsOf(config, "val");
  const groups = new Map<number, Group>();
  const freshCostOf = meter(usage);
  const works = Seeds.validation(val, 0, version).map((prompt) =>
    groupWork(rollout, policy, version, config, prompt, (group) => void groups.set(prompt.group, group)),
  );
  const prepared: PreparedPlayer = {
    model: config.model.adapter === "" ? path : `${path} with ${config.model.adapter}`,
    kind: "checkpoint",
    template: rollout.template,
    tasks: rollout.tasks.values(),
    works,
    concurrency: Math.max(1, Math.floor(cacheRows(config) / val.group_size)),
    admits: () => true,
    used: ({ fresh }) => {
      if (used === null) return { requests: 0, retries: 0, lost: nothing };
      const { tokens, ...sent } = used();
      return { ...sent, lost: minus(tokens, freshCostOf(fresh).sum) };
    },
    prices,
    close: (folder) => {
      const inOrder = [...groups.values()].sort((a, b) => a.prompt.group - b.prompt.group);
      const records = Sampled.validationRecords(inOrder, 0, Number.POSITIVE_INFINITY, rollout.pieces);
      return Trajectories.append(folder, records);
    },
  };
  return prepared;
});

/** The key of an endpoint, from the environment; it goes nowhere but into requests. */
const keyOf = ({ keyVariable }: Endpoint): Effect.Effect<Redacted.Redacted | null, BadInput> => {
  if (keyVariable === null) return Effect.succeed(null);
  const value = process.env[keyVariable]?.trim() ?? "";
  if (/^[\x21-\x7e]+$/.test(value)) return Effect.succeed(Redacted.make(value));
  const problem = value === "" ? "is not set" : "holds characters that a header cannot have";
  const message = `evaluation.endpoint.api_key_env: the environment variable ${keyVariable} ${problem}`;
  return Effect.fail(new BadInput({ message }));
};

const prepareEndpoint = Effect.fnUntraced(function* (
  config: RunConfig,
  endpoint: Endpoint,
  tasks: readonly Task[],
  before: Usage,
) {
  const offering = tasks.find(({ tools }) => tools !== undefined);
  if (offering !== undefined) {
    const message = `evaluation.endpoint: ${offering.tag} offers tools, which only a policy of one's own is shown; nearest: model.path`;
    return yield* new BadInput({ message });
  }
  const key = yield* keyOf(endpoint);
  const client = yield* ChatClient.make(endpoint, {
    key,
    before,
    seed: config.run.seed,
    warn: (message) => Effect.logWarning(message),
  });
  const rollout = textRollout(config, tasks);
  const val = groupsOf(config, "val");
  const isAgents = (tag: string): boolean => isAgentTag(config.agent, tag);
  const playByAgent = val.tags.some(isAgents) ? yield* openAgentByEndpoint(config, endpoint, client) : null;
  const playMember = (
    prompt: Prompt,
    member: number,
  ): Effect.Effect<EvaluatedEpisode | NotPlayed, PlayerError, Environments> =>
    playByAgent !== null && isAgents(prompt.tag) ? playByAgent(prompt, member) : play(rollout, client, prompt, member);
  const works = Seeds.validation(val, 0, 0).flatMap((prompt) =>
    keysOf(prompt).map((each) => ({
      keys: [each],
      play: playMember(prompt, each.member).pipe(
        Effect.map((episode) => [episode]),
        // The others go on: what is left may do for them.
        Effect.catchIf(
          ({ _tag, ...error }) => _tag === "EndpointStopped" && "reason" in error && error.reason === "budget",
          () => Effect.succeed([]),
        ),
      ),
    })),
  );
  const [costOf, freshCostOf] = [meter(usage), meter(usage)];
  const { prices } = endpoint.budget;
  const prepared: PreparedPlayer = {
    model: endpoint.model,
    kind: endpoint.protocol,
    template: rollout.template,
    tasks,
    works,
    concurrency: endpoint.maxConcurrency,
    admits: ({ finished, underway }) => {
      const { most, sum } = costOf(finished);
      return client.admits({ finished: finished.length, cost: sum, most, underway });
    },
    used: ({ fresh }) => {
      const { requests, retries, spent } = client.tally();
      return { requests, retries, lost: minus(spent, freshCostOf(fresh).sum) };
    },
    prices: prices.in === 0 && prices.out === 0 ? null : prices,
    close: () => Effect.void,
  };
  return prepared;
});

/** `folder` is that of the evaluation, `environments` are those of the validation, `before` is what earlier sessions have spent. */
export const preparePlayer = (
  config: RunConfig,
  player: Player,
  folder: string,
  environments: RunEnvironments,
  tasks: readonly Task[],
  before: Usage,
): Effect.Effect<PreparedPlayer, BadInput | PolicyError, Scope.Scope> =>
  player._tag === "Checkpoint"
    ? prepareCheckpoint(config, player, environments, folder)
    : prepareEndpoint(config, player, tasks, before);
