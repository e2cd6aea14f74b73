/** `millrace train`. */
import { Effect } from "effect";
import * as CliError from "effect/cli/CliError";
import * as Flag from "effect/cli/Flag";
import type { RunConfig } from "../../src/config/RunConfig.ts";
import { ThreadsAhead } from "../../src/model/runtime/ThreadsAhead.ts";
import { usualPort } from "../../src/observe/watch/process/messages.ts";
import * as Stop from "../../src/support/process/Stop.ts";
import { limit, orNull, text } from "../flags.ts";
import { isSupervised } from "../supervised.ts";
import { commandOf, load } from "./Command.ts";
import { agentFlag, readRun, runFlags, withAgent } from "./runCommands.ts";

/** Port of the run's page: `near` is the usual one or the next that is free; null serves none. */
type PagePort = number | "near" | null;

const portOf = (written: string | null): Effect.Effect<PagePort, CliError.CliError> => {
  if (written === null || written === "near") return Effect.succeed(written);
  const port = /^\d{1,9}$/.test(written) ? Number(written) : Number.NaN;
  if (port <= 65_535) return Effect.succeed(port);
  const expected = `a port from 0 to 65535; nearest: ${port > 65_535 ? 65_535 : usualPort}`;
  return Effect.fail(new CliError.InvalidValue({ option: "watch", value: written, expected, kind: "flag" }));
};

/** Threads load their code while the memory is checked and the pipeline is loaded. */
const startedAhead = (config: RunConfig) =>
  Effect.flatMap(
    load(() => import("../../src/engine/threadsAhead.ts")),
    ({ startThreadsAhead }) => startThreadsAhead(config),
  );

/** Trains in a child process that is resumed when it was killed. */
const restarting = Effect.fnUntraced(function* (restarts: number, watch: PagePort, resume: string | null) {
  const { childWords, restartingTrain, resumeWords } = yield* load(() => import("../restartingTrain.ts"));
  const words = process.argv.slice(2);
  const { namedRun } = yield* load(() => import("../namedRun.ts"));
  yield* restartingTrain({
    restarts,
    words: childWords(words),
    resume: (folder) => resumeWords(folder, watch, words.includes("--debug")),
    folder: resume === null ? null : yield* namedRun("--resume", resume),
  });
});

export const train = commandOf({
  stopsInOrder: true,
  flags: {
    ...runFlags(
      "Go on from the newest checkpoint of a run, under its configuration and the overrides, which become part of it.",
    ),
    agent: agentFlag,
    watch: orNull(
      text("watch", "PORT", `Serve the run's page while it lives, on ${usualPort} or the next free port unless given.`),
    ).pipe(Flag.mapEffect(portOf)),
    restarts: limit(
      "restarts",
      { min: 0, max: 1_000, fallback: 0 },
      "Resume the run, at most N times, when its process was killed for want of memory or by a fault in native code.",
    ),
  },
  read: ({ agent, ...flags }) => readRun("train", withAgent(flags, agent)),
  work: Effect.fnUntraced(function* ({ restarts, watch, ...words }) {
    if (restarts > 0) return yield* restarting(restarts, watch, words.resume);
    const parent = isSupervised() ? yield* load(() => import("../restartingTrain.ts")) : null;
    const restart = parent?.takeSupervision()?.restart ?? null;
    const { checkedRun, checkMemory, checkThreads } = yield* load(() => import("../prepareRun.ts"));
    const { config, resume } = yield* Stop.unlessStopped(checkedRun("train", words), "anything was started");
    yield* checkThreads("train", config);
    const threads = yield* startedAhead(config);
    const { checkContinuable, isDone, printResult } = yield* load(() => import("../trainingEnd.ts"));
    if (resume !== null && restart !== null && (yield* isDone(config, resume))) return yield* printResult(resume);
    if (resume !== null) yield* checkContinuable(config, resume);
    const { train } = yield* load(() => import("../train.ts"));
    let folder = resume;
    const onFolder = (path: string): void => {
      folder = path;
      parent?.sendFolder(path);
    };
    yield* Effect.provideService(
      train({ config, resume, restart, watch, check: checkMemory("train", config), onFolder }),
      ThreadsAhead,
      threads,
    );
    if (folder !== null && config.metrics.console !== "off") yield* printResult(folder);
  }, Effect.scoped),
});
