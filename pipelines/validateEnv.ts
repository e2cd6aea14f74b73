/**
 * `millrace env validate`: examines the environment of a preset by the checks of `millrace/env/contract`, and leaves a table of what it found.
 * One that lacks something on this machine is not examined, and says what.
 */
import { Effect } from "effect";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { prepareAll } from "../src/env/contract/prepare.ts";
import { type Finding, runCheck } from "../src/env/validate/Check.ts";
import { checks } from "../src/env/validate/main.ts";
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

const isStepFault = ({ finding }: NamedFinding): boolean => finding.status === "fail" && finding.isStepFault;

/** The first check that a failing step cut off says so; the others could not be made for the same reason. */
const withOneStepFault = (found: readonly NamedFinding[]): readonly NamedFinding[] => {
  const first = found.find(isStepFault);
  return found.map((one) =>
    one === first || !isStepFault(one)
      ? one
      : { ...one, finding: { status: "does not apply", reason: "not examined: a step failed, as said above" } },
  );
};

export const validateEnv = Effect.fn("pipelines.validateEnv")(function* ({
  config,
  json,
  tag,
  width,
}: ValidateEnvOptions): Effect.fn.Return<Validation, Effect.Error<ReturnType<typeof boundEnvironments>>> {
  const preset = config.custom_envs[tag];
  const needed =
    preset === undefined ? undefined : (yield* obstaclesOf({ ...config, custom_envs: { [tag]: preset } })).get(tag);
  if (needed?.every((sentence) => !sentence.startsWith("custom_envs.")) === true) {
    const reason = `not examined here: ${needed.join("; ")}`;
    const lines = json
      ? [JSON.stringify({ tag, lacks: needed, checks: [] })]
      : indented(`${tag}: ${reason}`, "", width);
    return { isKept: true, lines };
  }
  const environments = yield* boundEnvironments(config, [tag]);
  yield* prepareAll(environments).pipe(Effect.mapError(({ message }) => new BadInput({ message })));
  const [environment] = environments.values();
  if (environment === undefined) return { isKept: true, lines: [] };
  const actions = Math.min(mostActions, 4 * (preset?.max_actions_per_traj ?? 1));
  const found = withOneStepFault(
    yield* Effect.forEach(checks, (check) =>
      Effect.promise(async () => ({ name: check.name, finding: await runCheck(check, { environment, actions }) })),
    ),
  );
  const findings = found.map(({ finding }) => finding);
  const isKept = countOf(findings, "fail") === 0;
  if (json) {
    const listed = found.map(({ finding, name }) => ({ name, status: finding.status, why: why(finding) }));
    return { isKept, lines: [JSON.stringify({ tag, lacks: [], checks: listed })] };
  }
  const rows = found.map(({ finding, name }) => [finding.status, name, why(finding)]);
  const [passed, failed, other] = [
    countOf(findings, "pass"),
    countOf(findings, "fail"),
    countOf(findings, "does not apply"),
  ];
  const summary = `${tag}: ${passed} passed, ${failed} failed, ${other} do not apply`;
  return { isKept, lines: [...table([["RESULT", "CHECK", "FOUND"], ...rows], { width, widest: 46 }), "", summary] };
});
