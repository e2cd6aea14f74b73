/**
 * The train pipeline: trains a policy under a resolved configuration and fills a run's folder. Read from top to bottom it is the run: the
 * environments, the model, the folder, the threads and services over them, and training until the last window is consumed.
 */
import process from "node:process";
import { Console, Context, Effect, Fiber, Layer, type Scope } from "effect";
import { hasAgent } from "../src/config/agentForms.ts";
import { isLearnerRemote } from "../src/config/checks/learner.ts";
import { startingLag } from "../src/config/fixedLag.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { render } from "../src/config/render.ts";
import { startingSampler } from "../src/config/taskSampler.ts";
import { BadInput, type LearnerError, type PolicyError } from "../src/domain/Errors.ts";
import type { Restart } from "../src/domain/Restart.ts";
import * as RunState from "../src/domain/RunState.ts";
import * as Backend from "../src/engine/Backend.ts";
import { CustomModels, type RecordedModels } from "../src/engine/CustomModels.ts";
import * as Layers from "../src/engine/Layers.ts";
import type * as Run from "../src/engine/Run.ts";
import { Config } from "../src/engine/RunContext.ts";
import { Reward, type RewardFunction } from "../src/engine/reward.ts";
import { Selection } from "../src/engine/stages/filter.ts";
import * as RemoteModel from "../src/engine/startingModel.ts";
import * as Telemetry from "../src/engine/Telemetry.ts";
import * as Training from "../src/engine/Training.ts";
import { gamesUrl } from "../src/env/games/registry.ts";
import * as Pool from "../src/env/pool/layer.ts";
import { Bus } from "../src/flow/Bus.ts";
import * as Servers from "../src/flow/Servers.ts";
import type { CustomPolicy } from "../src/generation/CustomPolicy.ts";
import { Policy } from "../src/generation/Policy.ts";
import type { CustomLearner } from "../src/learner/CustomLearner.ts";
import { Learner } from "../src/learner/Learner.ts";
import * as Model from "../src/model/Model.ts";
import * as StartingModel from "../src/model/StartingModel.ts";
import * as ControlServer from "../src/observe/control/ControlServer.ts";
import * as Controls from "../src/observe/control/Controls.ts";
import * as Checkpoints from "../src/observe/record/Checkpoints.ts";
import * as Recorder from "../src/observe/record/events/Recorder.ts";
import * as RunFolder from "../src/observe/record/RunFolder.ts";
import * as RunLock from "../src/observe/record/RunLock.ts";
import { reachesStart } from "../src/observe/record/replies/ReplyFiles.ts";
import * as ReplyLog from "../src/observe/record/replies/ReplyLog.ts";
import * as Chosen from "../src/observe/sinks/RunSinks.ts";
import type { Sink } from "../src/observe/sinks/Sink.ts";
import type { PageOptions } from "../src/observe/watch/process/Page.ts";
import { CurrentGroupPlayer } from "../src/rollout/GroupPlayer.ts";
import type * as Rollout from "../src/rollout/Rollout.ts";
import type * as Filtering from "../src/selection/filtering/filter.ts";
import { damaged } from "../src/support/files/FileError.ts";
import * as StepFolders from "../src/support/files/StepFolders.ts";
import * as Stop from "../src/support/process/Stop.ts";
import { tellUnknownNames } from "./actionNames.ts";
import { checkDevices, rolesOf, tellBits, tellDevices, tellServers } from "./devices.ts";
import { tellLoading } from "./loading.ts";
import { playedEnvironments } from "./presets.ts";
import { RunSession } from "./RunSession.ts";

/** Parts of one's own in place of the usual ones. */
export interface Parts {
  /** Selects the groups of a window that are trained on, in place of the run file's `filter`. */
  readonly filter?: Filtering.Selection;
  /** Rewards training episodes, in place of their environments. */
  readonly reward?: RewardFunction;
  /** Samples replies in place of the generator. */
  readonly policy?: CustomPolicy;
  /** Trains in place of the learner's thread. */
  readonly learner?: CustomLearner;
  /** Sinks beside metrics.jsonl and the console. */
  readonly sinks?: readonly Sink[];
  /** Called once, when the run is about to begin. */
  readonly onStart?: (run: Run.Run) => void;
}

/** A replay puts these in the place of the generator and of the log of replies. */
export interface ReplayParts {
  readonly recorded: RecordedModels;
  readonly log: ReplyLog.ReplyLog;
}

export interface TrainOptions {
  readonly config: RunConfig;
  /** Folder of the run to go on with; null starts a new one. */
  readonly resume: string | null;
  /** The port of the run's page; null, the default, for none. */
  readonly watch?: PageOptions["port"] | null;
  readonly parts?: Parts;
  /** A check of the memory that is made while environments load. It fails before the run has a folder. */
  readonly check?: Effect.Effect<void, BadInput>;
  /** Parts that answer for the generator when a recorded run is replayed. */
  readonly replay?: ReplayParts;
  /** Called once with the run's folder, when the run is about to begin. */
  readonly onFolder?: (folder: string) => void;
  /** Why the run to resume is opened again after its process died; null, the default, where a person resumes it. */
  readonly restart?: Restart | null;
}

type Folder = typeof RunFolder.RunFolder.Service;

/** The state from which a run begins. */
interface StartingState {
  readonly state: RunState.RunState;
  /** The weights that the threads have. */
  readonly current: Model.Model;
  readonly models: Context.Context<Policy | Learner | Backend.ThreadFailure>;
  /** Changes the folder to go on in. Done when all else stands: a run that is refused leaves its folder as it was. */
  readonly settle: Effect.Effect<void, BadInput>;
}

const startNew = Effect.fnUntraced(function* (
  config: RunConfig,
  start: Model.Model,
  folder: string,
): Effect.fn.Return<StartingState, BadInput | PolicyError | LearnerError, Scope.Scope> {
  const models = Backend.modelsLayer({ config, start, current: start, version: 0, restore: null, folder });
  const state = RunState.startUnder(startingLag(config), startingSampler(config));
  return { state, current: start, models: yield* Layer.build(models), settle: Effect.void };
});

/** The weights, learner and state of one checkpoint. What it does not give is damage; what does not fit the configuration is bad input. */
const restoreCheckpoint = Effect.fnUntraced(function* (
  config: RunConfig,
  start: Model.Model,
  folder: string,
  { path, state }: Checkpoints.Checkpoint,
) {
  const orDamaged = ({ message }: Pick<BadInput, "message">) => Effect.fail(damaged(path, message));
  const { version } = state.position;
  yield* Checkpoints.checkResumable(config, state);
  yield* StartingModel.checkResumable(start, path);
  const current = yield* Effect.catchTag(RemoteModel.resumedModel(config, start, path), "BadInput", orDamaged);
  yield* Model.checkSameSizes("model.path", start, current);
  const earlier = yield* Effect.catchTag(
    RemoteModel.earlierVersions(start, path, state.position),
    "BadInput",
    orDamaged,
  );
  const models = yield* Layer.build(
    Backend.modelsLayer({ config, start, current, version, earlier, restore: path, folder }),
  ).pipe(Effect.catchIf((error) => error._tag === "LearnerError" && error.reason === "bad_checkpoint", orDamaged));
  const learned = yield* Context.get(models, Learner).version;
  if (learned !== version) {
    return yield* damaged(path, `${path}: its learner is at version ${learned}, its run at ${version}`);
  }
  const taskSampler = startingSampler(config, state.taskSampler);
  return { state: { ...state, taskSampler }, current, models };
});

const resumeNewest = Effect.fnUntraced(function* (
  config: RunConfig,
  start: Model.Model,
  folder: Folder,
): Effect.fn.Return<StartingState, BadInput | PolicyError | LearnerError, Scope.Scope> {
  const { cleanUp, loaded } = yield* Checkpoints.loadNewest(folder.checkpoints, (checkpoint) =>
    restoreCheckpoint(config, start, folder.path, checkpoint),
  );
  return { ...loaded, settle: Effect.andThen(cleanUp, RunFolder.replaceConfig(folder, render(config))) };
});

/** The run begins again in its folder, which holds no checkpoint: what it had recorded is removed. */
const startAgain = (config: RunConfig, start: Model.Model, folder: Folder) =>
  Effect.map(startNew(config, start, folder.path), (state) => ({ ...state, settle: RunFolder.removeLogs(folder) }));

/**
 * A run goes on from its newest checkpoint. Where it has none, it begins again if it is restarted, or if its log holds the replies since its
 * start.
 */
const goOn = Effect.fnUntraced(function* (config: RunConfig, start: Model.Model, folder: Folder, isRestarted: boolean) {
  const checkpoints = yield* Effect.mapError(
    StepFolders.candidates(folder.checkpoints),
    ({ message }) => new BadInput({ message }),
  );
  const beginsAgain =
    checkpoints.length === 0 && (isRestarted || (yield* Effect.promise(() => reachesStart(folder.replies))));
  return yield* beginsAgain ? startAgain(config, start, folder) : resumeNewest(config, start, folder);
});

const openPage = Effect.fnUntraced(function* (folder: string, port: PageOptions["port"]) {
  const { servePage } = yield* Effect.promise(() => import("../src/observe/watch/process/Page.ts"));
  const page = yield* servePage({ folder, port, terminal: process.stdout.isTTY === true });
  yield* Console.log(page.line);
});

/** Lets others see the run and change how it goes on: by its record, its control socket and, where asked for, its page. */
const openRun = Effect.fnUntraced(function* (folder: string, watch: PageOptions["port"] | null, session: RunSession) {
  yield* Recorder.attach(yield* Config);
  yield* ControlServer.serve(folder, (yield* Controls.Controls).apply);
  if (watch === null) return;
  const opened = session.openOnce("page", openPage(folder, watch));
  // The page of a killed process keeps its port while a browser looks, and shows how the run goes on.
  yield* session.restart === null ? opened : Effect.catch(opened, ({ message }) => Effect.logWarning(message));
});

/** Gives a caller of the package the run. Only there are its streams loaded. */
const holdRun = Effect.fnUntraced(function* (session: RunSession) {
  const { follow, make } = yield* Effect.promise(() => import("../src/engine/Run.ts"));
  const run = yield* make;
  return () => session.hold(run, follow);
});

/** Trains until the run has ended in any way; its sinks are told how. */
const trainUntilEnd = Effect.fnUntraced(function* (
  { parts = {}, replay, watch = null }: TrainOptions,
  session: RunSession,
) {
  const { filter, reward, sinks } = parts;
  const { restart } = session;
  const bus = yield* Bus;
  const folder = (yield* RunFolder.RunFolder).path;
  const giveRun = session.isHeld ? yield* holdRun(session) : null;
  yield* openRun(folder, watch, session);
  const log = replay === undefined ? yield* ReplyLog.attach(yield* Config) : replay.log;
  yield* Servers.attach;
  const { broken, traced } = yield* Telemetry.attach.pipe(Effect.provideService(Telemetry.Sinks, sinks ?? []));
  // The race below interrupts the requests that fail with the thread, perhaps before one of them has counted the death.
  const died = Effect.tapError(yield* Backend.ThreadFailure, session.suspects.countDeath);
  session.begin(folder);
  giveRun?.();
  if (restart !== null) yield* bus.emit({ _tag: "Restarted", step: bus.state().step, ...restart });
  const ownParts = Context.make(Selection, filter ?? null).pipe(
    Context.add(Reward, reward ?? null),
    Context.add(ReplyLog.CurrentReplyLog, log),
    Context.add(CurrentGroupPlayer, session.suspects.guard(yield* CurrentGroupPlayer)),
  );
  const training = Chosen.withTracer(Effect.provideContext(Training.run, ownParts), traced);
  const ended = yield* Effect.catch(Effect.raceAllFirst([training, broken, died]), (error) =>
    session.failureOf(RunFolder.goneOr(folder, error), bus.state().checkpoint?.folder ?? null),
  );
  // A folder that was removed after the last write makes no write fail.
  yield* RunFolder.checkExists(folder);
  return ended;
}, Effect.scoped);

/** Players of the run's agent by its tag. A run without an agent loads none of them. */
const agentPlayers = Effect.fnUntraced(function* (config: RunConfig, model: Model.Model) {
  if (!hasAgent(config.agent)) return new Map<string, Rollout.PlayGroup>();
  const { openAgents } = yield* Effect.promise(() => import("../src/engine/agents.ts"));
  return yield* openAgents(config, model);
});

/** The environments of a run, and the fiber that starts what steps them. */
const loadEnvironments = Effect.fnUntraced(function* (config: RunConfig) {
  const environments = yield* playedEnvironments(config, Backend.tagsOf(config));
  const starting = Layer.build(Pool.layer(config, environments, gamesUrl));
  return { environments, stepping: yield* Effect.forkChild(starting, { startImmediately: true }) };
});

type LoadingEnvironments = Effect.Success<ReturnType<typeof loadEnvironments>>;

/** Every part of a run over its folder, as services of the current scope. `settle` comes last, and right before the run. */
const partsOf = Effect.fnUntraced(function* (
  config: RunConfig,
  { environments, stepping }: LoadingEnvironments,
  folder: Folder,
  beginning: Effect.Effect<StartingState, BadInput | PolicyError | LearnerError, Scope.Scope>,
  { restart, suspects }: RunSession,
) {
  const [{ current, models, settle, state }, steps] = yield* Effect.all([beginning, Fiber.join(stepping)], {
    concurrency: "unbounded",
  });
  if (restart === null) yield* Effect.provide(tellUnknownNames(config, current.tokenizer), steps);
  const players = yield* agentPlayers(config, current);
  const rollout = yield* Backend.makeRollout(config, current, environments.texts, players);
  const watched = Context.add(models, Policy, suspects.watch(Context.get(models, Policy)));
  const threads = Context.merge(watched, steps);
  const around = Layer.succeedContext(Context.add(threads, Stop.Stop, yield* Stop.Stop));
  const services = yield* Layer.build(
    Layers.layer({ config, folder, state, rollout }).pipe(Layer.provideMerge(around)),
  );
  return { services, settle };
});

/** Says what a person may want to know of a run before it begins. */
const tellPlan = Effect.fnUntraced(function* (config: RunConfig, start: Model.Model) {
  yield* tellDevices(config, rolesOf(config), start.checkpoint);
  yield* tellServers(config);
  yield* tellBits(config, start.checkpoint);
});

/** Loads a run, new or one to go on with. The folder of a new one goes with the scope if the run has not begun by then. */
const loaded = Effect.fnUntraced(function* (
  { check = Effect.void, config, ...options }: TrainOptions,
  session: RunSession,
) {
  const isRestart = session.restart !== null;
  const resume = session.folder ?? options.resume;
  const existing = resume === null ? null : yield* RunFolder.open(resume);
  if (existing !== null) yield* session.openOnce("lock", RunLock.hold(existing.path));
  const environments = yield* loadEnvironments(config);
  if (!isRestart) yield* check;
  if (!isRestart && !isLearnerRemote(config.model)) yield* tellLoading(config.model.path);
  const start = yield* RemoteModel.load(config);
  yield* Model.checkContext(config, start);
  yield* checkDevices(config, rolesOf(config));
  if (!isRestart) yield* tellPlan(config, start);
  if (existing !== null) {
    return yield* partsOf(config, environments, existing, goOn(config, start, existing, isRestart), session);
  }
  const hasBegun = ({ path }: Folder) => session.folder === path;
  const folder = yield* RunFolder.createScoped({ ...config.run, resolvedConfig: render(config) }, hasBegun);
  yield* session.openOnce("lock", RunLock.hold(folder.path));
  return yield* partsOf(config, environments, folder, startNew(config, start, folder.path), session);
});

/** Loads the run and trains until it has ended, or until one of its threads has died. */
const attempt = (options: TrainOptions, session: RunSession) =>
  Effect.gen(function* () {
    const { learner, policy } = options.parts ?? {};
    const models = { policy, learner, recorded: options.replay?.recorded };
    const loading = Effect.provideService(loaded(options, session), CustomModels, models);
    // A thread may die again before the run that is opened again has begun.
    const restartable = session.folder === null ? loading : Effect.catch(loading, (error) => session.failureOf(error));
    const before = session.folder === null ? "the first step" : "the run was opened again";
    const { services, settle } = yield* Stop.unlessStopped(restartable, before);
    return yield* Effect.provideContext(Effect.andThen(settle, trainUntilEnd(options, session)), services);
  }).pipe(Effect.scoped, Effect.provideServiceEffect(Servers.Servers, Effect.sync(Servers.make)));

/** A stop that is asked for while the run loads ends it with `StoppedEarly`. A run whose thread dies is opened again in this process. */
export const train = (options: TrainOptions) =>
  Effect.gen(function* () {
    const { config, onFolder, parts, restart = null } = options;
    const restarts = config.trainer.max_restarts;
    const session = yield* RunSession.make({ restarts, restart, onFolder, onStart: parts?.onStart });
    yield* Effect.addFinalizer(() => Effect.sync(() => session.end()));
    return yield* Effect.retry(attempt(options, session), { while: ({ _tag }) => _tag === "ThreadLost" });
  }).pipe(Effect.scoped);
