/**
 * `millrace env validate`: examines the environment of a preset by the checks of `millrace/env/contract`, and leaves a table of what it found.
 * One that lacks something on this machine is not examined, and says what.
 */
import { Effect, Option } from "effect";
import { withLevels } from "../src/config/levels.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import type { AnyEnvironment } from "../src/env/contract/BoundEnvironment.ts";
import { prepareAll } from "../src/env/contract/prepare.ts";
import { type Finding, runCheck } from "../src/env/validate/Check.ts";
import { checks } from "../src/env/validate/main.ts";
import * as Model from "../src/model/Model.ts";
import { isEmbedded } from "./actionNames.ts";
import { environmentNotes } from "./environmentNotes.ts";
import { namedModel } from "./namedRun.ts";
import { boundEnvironments, obstaclesOf } from "./presets.ts";
import { indented, table } from "./table.ts";

export interface ValidateEnvOptions {
  readonly config: RunConfig;
  readonly tag: string;
  readonly json: boolean;
  /** Columns of the terminal. */
  readonly width: number;
}

export interface Validation {
  /** No check failed. */
  readonly isKept: boolean;
  readonly lines: readonly string[];
}

/** Most actions of an episode, whatever the preset allows. */
const mostActions = 200;

const why = (finding: Finding): string => (finding.status === "pass" ? finding.measured : finding.reason);

const countOf = (findings: readonly Finding[], status: Finding["status"]): number =>
  findings.filter((finding) => finding.status === status).length;

interface NamedFinding {
  readonly name: string;
  readonly finding: Finding;
}

/** True if both failed for one cause: a step that threw, or the same sentence. */
const hasSameCause = (a: Finding, b: Finding): boolean =>
  a.status === "fail" && b.status === "fail" && ((a.isStepFault && b.isStepFault) || a.reason === b.reason);

/** A cause is a failure of the first check that it cut off; the later ones could not be made. */
const withEachCauseOnce = (found: readonly NamedFinding[]): readonly NamedFinding[] =>
  found.map((one, at) => {
    const isKnown = found.slice(0, at).some(({ finding }) => hasSameCause(finding, one.finding));
    if (!isKnown) return one;
    return { ...one, finding: { status: "does not apply", reason: "not examined: it fails, as said above" } };
  });

/** Notes on an environment that keeps its contract. */
const notesOf = Effect.fnUntraced(function* (
  config: RunConfig,
  tag: string,
  environment: AnyEnvironment,
  actions: number,
) {
  const folder = Option.getOrNull(yield* Effect.option(namedModel("model.path", config.model.path)));
  const model = folder !== null && isEmbedded(folder) ? yield* Model.loadWithoutWeights(folder) : null;
  return yield* Effect.promise(() =>
    environmentNotes({ tag, environment, config, tokenizer: model?.tokenizer ?? null, actions }),
  );
});

export const validateEnv = Effect.fn("pipelines.validateEnv")(function* ({
  config,
  json,
  tag,
  width,
}: ValidateEnvOptions): Effect.fn.Return<Validation, Effect.Error<ReturnType<typeof boundEnvironments>>> {
  const preset = withLevels(config.custom_envs)[tag];
  const needed =
    preset === undefined ? undefined : (yield* obstaclesOf({ ...config, custom_envs: { [tag]: preset } })).get(tag);
  if (needed?.every((sentence) => !sentence.startsWith("custom_envs.")) === true) {
    const reason = `not examined here: ${needed.join("; ")}`;
    const lines = json
      ? [JSON.stringify({ tag, lacks: needed, checks: [], notes: [] })]
      : indented(`${tag}: ${reason}`, "", width);
    return { isKept: true, lines };
  }
  const environments = yield* boundEnvironments(config, [tag]);
  yield* prepareAll(environments).pipe(Effect.mapError(({ message }) => new BadInput({ message })));
  const [environment] = environments.values();
  if (environment === undefined) return { isKept: true, lines: [] };
  const actions = Math.min(mostActions, 4 * (preset?.max_actions_per_traj ?? 1));
  const found = withEachCauseOnce(
    yield* Effect.forEach(checks, (check) =>
      Effect.promise(async () => ({ name: check.name, finding: await runCheck(check, { environment, actions }) })),
    ),
  );
  const findings = found.map(({ finding }) => finding);
  const isKept = countOf(findings, "fail") === 0;
  // An environment that fails a check has to be mended first.
  const notes = isKept ? yield* notesOf(config, tag, environment, actions) : [];
  if (json) {
    const listed = found.map(({ finding, name }) => ({ name, status: finding.status, why: why(finding) }));
    return { isKept, lines: [JSON.stringify({ tag, lacks: [], checks: listed, notes })] };
  }
  const rows = found.map(({ finding, name }) => [finding.status, name, why(finding)]);
  const [passed, failed, other] = [
    countOf(findings, "pass"),
    countOf(findings, "fail"),
    countOf(findings, "does not apply"),
  ];
  const summary = `${tag}: ${passed} passed, ${failed} failed, ${other} do not apply`;
  const findingLines = table([["RESULT", "CHECK", "FOUND"], ...rows], { width, widest: 46 });
  const noteLines = notes.flatMap((note) => indented(`note: ${note}`, "", width));
  return { isKept, lines: [...findingLines, "", summary, ...noteLines] };
});
