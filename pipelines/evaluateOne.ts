/** One model's evaluation in its folder: plays what is not finished, then writes the summary and prints it. */
import { join } from "node:path";
import process from "node:process";
import { Clock, Console, Effect, Semaphore } from "effect";
import { playedTags } from "../src/config/levels.ts";
import type { Player } from "../src/config/players.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput, type EnvironmentError, type PolicyError } from "../src/domain/Errors.ts";
import { monotonicMillis } from "../src/domain/Instant.ts";
import type { Metrics } from "../src/domain/metrics/Metrics.ts";
import type { RunEnvironments } from "../src/env/pool/layer.ts";
import type { RunFolder } from "../src/observe/record/RunFolder.ts";
import * as Trajectories from "../src/observe/record/Trajectories.ts";
import { tasksOf } from "../src/rollout/Task.ts";
import { type Output, progressBar } from "../src/support/process/ProgressBar.ts";
import { cost, plus, total } from "../src/tools/endpoints/Budget.ts";
import type { EndpointStopped } from "../src/tools/endpoints/Chat.ts";
import { conditionsOf, versionsOf } from "../src/tools/evaluation/Conditions.ts";
import { sorted } from "../src/tools/evaluation/contestants.ts";
import * as EpisodeLog from "../src/tools/evaluation/EpisodeLog.ts";
import * as Folder from "../src/tools/evaluation/EvaluationFolder.ts";
import { metricsOf } from "../src/tools/evaluation/metrics.ts";
import { changeOf, type Plan } from "../src/tools/evaluation/Plan.ts";
import { recordsOf } from "../src/tools/evaluation/records.ts";
import type { Standing } from "../src/tools/evaluation/Session.ts";
import * as Session from "../src/tools/evaluation/Session.ts";
import { type Summary, summaryOf } from "../src/tools/evaluation/Summary.ts";
import { writeCopy } from "./episodesCopy.ts";
import { type PlayerError, type PreparedPlayer, preparePlayer, usageOf } from "./preparedPlayer.ts";

/** Shows an evaluation's progress on standard error while the scope lives: a bar on a terminal, a line for every tenth elsewhere. */
const evaluationBar = Effect.fnUntraced(function* (name: string) {
  const console = yield* Console.Console;
  // A console that a caller provides gets the lines, also where the process has a terminal.
  const terminal = process.stderr.isTTY && console === globalThis.console;
  const lines: Output = {
    write: (line: string | Uint8Array) => {
      console.error(String(line).trimEnd());
      return true;
    },
  };
  const bar = yield* Effect.acquireRelease(
    Effect.sync(() => progressBar(terminal ? process.stderr : lines)),
    ({ close }) => Effect.sync(close),
  );
  return ({ failed, finished, planned }: Standing): void => {
    const done = finished.length + failed.length;
    const step = terminal ? 1 : Math.max(1, Math.ceil(planned / 10));
    const shown = done === planned ? done : Math.floor(done / step) * step;
    if (shown > 0) bar.show(shown / planned, `${name}: ${shown} of ${planned} episodes`);
  };
});

type Paths = typeof RunFolder.Service;

const planOf = (config: RunConfig, prepared: PreparedPlayer, player: Player): Plan => {
  const { group_size, seed } = config.es_manager.val;
  const { kind, model, tasks, template, works } = prepared;
  return {
    schema: 1,
    name: player.name,
    model,
    kind,
    temperature: player.temperature,
    versions: versionsOf(conditionsOf(config), template, tasks),
    seed,
    group_size,
    planned: works.reduce((sum, { keys }) => sum + keys.length, 0),
  };
};

/** Writes the plan. One that would play otherwise than the folder's own is bad input. */
const checkAndWritePlan = Effect.fnUntraced(function* (folder: Paths, now: Plan) {
  const before = yield* Folder.readPlan(folder.path);
  const change = before === null ? null : changeOf(before, now);
  if (change !== null) {
    const message = `--resume: ${folder.path}: ${change} is not as the evaluation began; begin another one`;
    return yield* new BadInput({ message });
  }
  const plan = { ...now, name: before?.name ?? now.name };
  yield* Folder.writePlan(folder.path, plan);
  return plan;
});

/** Why episodes are left that nothing failed in. */
const stoppedOf = ({ failure, standing }: Session.Played<PlayerError>): Summary["stopped"] => {
  if (failure?._tag === "EndpointStopped") return { reason: failure.reason, message: failure.message };
  const left = standing.planned - standing.finished.length - standing.failed.length;
  if (failure !== null || left <= 0) return null;
  return { reason: "budget", message: "one more episode is not expected to fit into the budget" };
};

const metricLines = (metrics: Metrics): readonly string[] => {
  const width = Math.max(0, ...Array.from(metrics.keys(), (name) => name.length));
  return [...metrics].map(([name, value]) => `${name.padEnd(width)}  ${value.toFixed(4)}`);
};

const percent = (share: number): string => (100 * share).toFixed(1);

const tokenLine = ({ cost_usd, tokens }: Summary): string => {
  const usd = cost_usd === undefined ? "" : `; ${cost_usd.toFixed(4)} USD`;
  return `${tokens.prompt} tokens of prompts, ${tokens.reply} of replies, ${tokens.lost} in no finished episode${usd}`;
};

const endLines = ({ path, trajectories }: Paths, groups: number, summary: Summary): readonly string[] => {
  const { failed, finished, kind, planned: all, requests, stopped, success } = summary;
  return [
    ...(success === null
      ? []
      : [`success ${percent(success.mean)} %, 95 % interval ${percent(success.low)} to ${percent(success.high)}`]),
    ...(kind === "checkpoint" ? [`${groups} groups; trajectories in ${trajectories}`] : []),
    ...(kind === "checkpoint" && requests === 0 ? [] : [tokenLine(summary)]),
    `${finished} of ${all} episodes in ${join(path, Folder.episodesFile)}`,
    ...(failed === 0 ? [] : [`${failed} episodes could not be played: ${join(path, Folder.failuresFile)}`]),
    ...(stopped === null ? [] : [`stopped: ${stopped.message}`]),
    ...(finished < all ? [`millrace evaluate --resume ${path} plays the rest`] : []),
  ];
};

/** Turns the failure of a session that ended early into the command's own. A spent budget is no failure. */
const ending = (
  failure: PlayerError | null,
  { path }: Paths,
): Effect.Effect<void, BadInput | PolicyError | EnvironmentError | EndpointStopped> => {
  if (failure === null) return Effect.void;
  if (failure._tag !== "EndpointStopped") return Effect.fail(failure);
  const { message, reason } = failure;
  if (reason === "budget") return Effect.void;
  if (reason !== "refused") return Effect.fail(failure);
  return Effect.fail(new BadInput({ message: `evaluation.endpoint: ${message}; what is finished is in ${path}` }));
};

/** Plays the session, and writes what it used, also where it is interrupted. */
const playSession = Effect.fnUntraced(function* (
  folder: Paths,
  name: string,
  prepared: PreparedPlayer,
  log: EpisodeLog.EpisodeLog,
) {
  const began = yield* monotonicMillis;
  const bar = yield* evaluationBar(name);
  const { admits, concurrency, works } = prepared;
  const planned = works.reduce((sum, { keys }) => sum + keys.length, 0);
  let latest: Session.Standing = { planned, finished: log.finished, fresh: [], failed: [], underway: 0 };
  const leave = Effect.gen(function* () {
    const { lost, requests, retries } = prepared.used(latest);
    const seconds = ((yield* monotonicMillis) - began) / 1_000;
    const line = { requests, retries, seconds, lost_prompt: lost.prompt, lost_reply: lost.reply };
    yield* Folder.appendSession(folder.path, line);
    yield* Folder.appendFailures(folder.path, latest.failed);
  });
  const left = Console.error(`what is finished is kept: millrace evaluate --resume ${folder.path} plays the rest`);
  const progress = (standing: Session.Standing) =>
    Effect.sync(() => {
      latest = standing;
      bar(standing);
    });
  const outcome = yield* Session.run({ log, works, concurrency, admits, progress }).pipe(
    Effect.onInterrupt(() => Effect.andThen(Effect.ignore(leave), left)),
  );
  latest = outcome.standing;
  yield* leave;
  return outcome;
}, Effect.scoped);

/** The log of an endpoint's episodes, which keeps their trajectories beside it: those of earlier sittings at once, then each as it finishes. */
const withTrajectories = Effect.fnUntraced(function* (log: EpisodeLog.EpisodeLog, folder: Paths) {
  const lock = yield* Semaphore.make(1);
  yield* Trajectories.replace(folder, sorted(log.finished).flatMap(recordsOf));
  const append: EpisodeLog.EpisodeLog["append"] = (episodes) =>
    Effect.andThen(log.append(episodes), lock.withPermit(Trajectories.append(folder, episodes.flatMap(recordsOf))));
  return { ...log, append };
});

export interface EvaluatedModel {
  readonly folder: string;
  readonly summary: Summary;
  readonly metrics: Metrics;
}

/** `listed`: others play beside it. */
export const evaluateOne = Effect.fnUntraced(function* (
  config: RunConfig,
  player: Player,
  folder: Paths,
  environments: RunEnvironments,
  listed: boolean,
) {
  const log = yield* EpisodeLog.make(join(folder.path, Folder.episodesFile), config.es_manager.val.group_size);
  const lostBefore = Folder.lostIn(yield* Folder.readSessions(folder.path));
  const tasks = tasksOf(config.custom_envs, environments.texts);
  const before = plus(usageOf(log.finished), lostBefore);
  const prepared = yield* preparePlayer(config, player, folder.path, environments, tasks, before);
  const plan = yield* checkAndWritePlan(folder, planOf(config, prepared, player));
  const episodeLog = player._tag === "Endpoint" ? yield* withTrajectories(log, folder) : log;
  const outcome = yield* playSession(folder, plan.name, prepared, episodeLog);

  const { failed, finished } = outcome.standing;
  const episodes = sorted(finished);
  const metrics = metricsOf(episodes, {
    size: plan.group_size,
    failures: failed.length,
    endpoint: player._tag === "Endpoint",
    summaries: config.rollout.train_summary,
  });
  const sessions = yield* Folder.readSessions(folder.path);
  const lost = Folder.lostIn(sessions);
  const summary = summaryOf(episodes, {
    ...plan,
    tags: playedTags(config, "val"),
    template: config.rollout.template,
    written: yield* Clock.currentTimeMillis,
    failed: failed.length,
    stopped: stoppedOf(outcome),
    ...Folder.sumOf(sessions),
    lost: total(lost),
    cost: prepared.prices === null ? null : cost(prepared.prices, plus(usageOf(episodes), lost)),
  });
  yield* prepared.close(folder);
  yield* Folder.writeSummary(folder.path, summary, metrics);
  const copy = yield* writeCopy(config, listed ? plan.name : null, episodes);
  const lines = [...metricLines(metrics), ...endLines(folder, prepared.works.length, summary), ...copy];
  yield* Effect.forEach(lines, (line) => Console.log(line), { discard: true });
  yield* ending(outcome.failure, folder);
  const evaluated: EvaluatedModel = { folder: folder.path, summary, metrics };
  return evaluated;
}, Effect.scoped);
