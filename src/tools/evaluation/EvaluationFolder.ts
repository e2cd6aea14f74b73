/**
 * The folder of an evaluation, beside the run's own files: episodes.jsonl grows as they finish, evaluation.json has the plan, summary.json
 * the result. failures.jsonl and sessions.jsonl have what else happened. All readers of results read them through this module.
 */
import { existsSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Effect, Option, Schema } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import { type Metrics, toRecord } from "../../domain/metrics/Metrics.ts";
import { replaceText } from "../../support/files/AtomicWrite.ts";
import * as EpisodeLog from "./EpisodeLog.ts";
import type { EvaluatedEpisode } from "./EvaluatedEpisode.ts";
import type { NotPlayed } from "./NotPlayed.ts";
import { Plan } from "./Plan.ts";
import { Summary } from "./Summary.ts";

export const episodesFile = "episodes.jsonl";
export const summaryFile = "summary.json";
const planFile = "evaluation.json";
export const failuresFile = "failures.jsonl";
const sessionsFile = "sessions.jsonl";

/** Usage of one session that its finished episodes do not show. */
const SessionLine = Schema.Struct({
  requests: Schema.Int,
  retries: Schema.Int,
  seconds: Schema.Finite,
  /** Tokens of episodes that were not finished. */
  lost_prompt: Schema.Int,
  lost_reply: Schema.Int,
});
export type SessionLine = typeof SessionLine.Type;

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT";

const reading = (path: string): Effect.Effect<string | null, BadInput> =>
  Effect.tryPromise({
    try: () =>
      readFile(path, "utf8").catch((cause: unknown) => {
        if (isMissing(cause)) return null;
        throw cause;
      }),
    catch: (cause) => new BadInput({ message: `cannot read ${path}: ${String(cause)}` }),
  });

const writing = (path: string, value: unknown): Effect.Effect<void, BadInput> =>
  Effect.mapError(
    replaceText(path, `${JSON.stringify(value, null, 2)}\n`),
    ({ message }) => new BadInput({ message: `cannot write ${message}` }),
  );

const appending = (path: string, lines: readonly unknown[]): Effect.Effect<void, BadInput> =>
  lines.length === 0
    ? Effect.void
    : Effect.tryPromise({
        try: () => appendFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join("")),
        catch: (cause) => new BadInput({ message: `cannot write ${path}: ${String(cause)}` }),
      });

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

export const hasEvaluation = (folder: string): boolean => existsSync(join(folder, planFile));

/** The plan of a folder; null where there is none. */
export const readPlan = (folder: string): Effect.Effect<Plan | null, BadInput> =>
  Effect.map(reading(join(folder, planFile)), (text) =>
    Option.getOrNull(Schema.decodeUnknownOption(Plan)(parsed(text ?? ""))),
  );

export const writePlan = (folder: string, plan: Plan): Effect.Effect<void, BadInput> =>
  writing(join(folder, planFile), plan);

/** Reads the usage of earlier sessions; a session that was killed has no line. */
export const readSessions = (folder: string): Effect.Effect<readonly SessionLine[], BadInput> =>
  Effect.map(reading(join(folder, sessionsFile)), (text) =>
    (text ?? "").split("\n").flatMap((line) => {
      const session = Schema.decodeUnknownOption(SessionLine)(parsed(line));
      return Option.isSome(session) ? [session.value] : [];
    }),
  );

/** Tokens of episodes that were not finished. */
export const lostIn = (sessions: readonly SessionLine[]): { readonly prompt: number; readonly reply: number } => ({
  prompt: sessions.reduce((sum, { lost_prompt }) => sum + lost_prompt, 0),
  reply: sessions.reduce((sum, { lost_reply }) => sum + lost_reply, 0),
});

export const sumOf = (sessions: readonly SessionLine[]): Pick<Summary, "requests" | "retries" | "seconds"> => ({
  requests: sessions.reduce((sum, { requests }) => sum + requests, 0),
  retries: sessions.reduce((sum, { retries }) => sum + retries, 0),
  seconds: sessions.reduce((sum, { seconds }) => sum + seconds, 0),
});

export const appendSession = (folder: string, session: SessionLine): Effect.Effect<void, BadInput> =>
  appending(join(folder, sessionsFile), [session]);

export const appendFailures = (folder: string, failures: readonly NotPlayed[]): Effect.Effect<void, BadInput> =>
  appending(
    join(folder, failuresFile),
    failures.map(({ _tag, ...failure }) => failure),
  );

/** summary.json: the metrics under their names, and the summary under `evaluation`. */
export const writeSummary = (folder: string, summary: Summary, metrics: Metrics): Effect.Effect<void, BadInput> =>
  writing(join(folder, summaryFile), { ...toRecord(metrics), evaluation: summary });

const SummaryFile = Schema.Struct({ evaluation: Summary });

/** Null where the evaluation has none yet. */
export const readSummary = (folder: string): Effect.Effect<Summary | null, BadInput> =>
  Effect.map(reading(join(folder, summaryFile)), (text) => {
    const decoded = Schema.decodeUnknownOption(SummaryFile)(parsed(text ?? ""));
    return Option.isSome(decoded) ? decoded.value.evaluation : null;
  });

/** The finished episodes. */
export const readEpisodes = (folder: string): Effect.Effect<readonly EvaluatedEpisode[], BadInput> =>
  Effect.map(reading(join(folder, episodesFile)), (text) => EpisodeLog.parse(text ?? ""));
