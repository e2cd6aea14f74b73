/**
 * Checks a server's answer before anything is made of it: its sizes, ids, log-probabilities and versions. Pure. Invariant: an `Answer` has one
 * finite log-probability, not above 0, and one version of this run for each of its ids, and no more ids than were asked for.
 */
import type { Version } from "../../domain/Episode.ts";
import type { Answer, Ask } from "./Dialect.ts";
import { failed, type ServerFailure } from "./ServerFailure.ts";

/** The tokens [start, end) that weights of one name sampled. */
export interface LabelledSpan {
  readonly version: string;
  readonly start: number;
  readonly end: number;
}

/** An answer as a server writes it, its parts found. */
export interface Raw {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly spans: readonly LabelledSpan[];
  readonly finish: string;
}

export interface Rules {
  /** Who answered. */
  readonly name: string;
  readonly vocabSize: number;
  /** The version of this run that a name stands for; undefined where it is not of this run. */
  readonly versionOf: (label: string) => Version | undefined;
}

/** How far rounding may put a log-probability above 0. */
const ROUNDING = 1e-3;
/** What servers write in place of minus infinity, which JSON does not have. */
const FLOOR = -9_000;

const wrongSize = ({ ids, logprobs }: Raw, { maxTokens }: Ask): string | undefined => {
  if (ids.length === 0) return "it has no token";
  if (ids.length > maxTokens) return `it has ${ids.length} tokens, and ${maxTokens} were asked for`;
  if (logprobs.length !== ids.length) return `it has ${logprobs.length} log-probabilities of ${ids.length} tokens`;
  return undefined;
};

/** The version of each token; what is wrong with the spans where they do not cover all tokens in order. */
const versionsOf = (spans: readonly LabelledSpan[], count: number, { versionOf }: Rules) => {
  const versions = new Int32Array(count);
  let at = 0;
  for (const { end, start, version: label } of spans) {
    if (start !== at || !(end >= start) || end > count)
      return { wrong: `its versions do not cover its tokens in order` };
    const version = versionOf(label);
    if (version === undefined) return { foreign: label };
    versions.fill(version, start, end);
    at = end;
  }
  return at === count ? { versions } : { wrong: `its versions cover ${at} of ${count} tokens` };
};

/** The answer, or what is wrong with it. */
export const checked = (raw: Raw, ask: Ask, rules: Rules): Answer | ServerFailure => {
  const { name, vocabSize } = rules;
  const nonsense = (what: string) => failed("nonsense", `${name}: an answer cannot be used: ${what}`);
  if (raw.finish === "abort") return failed("interrupted", `${name}: it ended a request before its end`);
  if (raw.finish !== "stop" && raw.finish !== "length") return nonsense(`it ended by "${raw.finish.slice(0, 40)}"`);
  const size = wrongSize(raw, ask);
  if (size !== undefined) return nonsense(size);
  const foreign = raw.ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabSize);
  if (foreign !== undefined) return nonsense(`id ${foreign} is outside the vocabulary of ${vocabSize}`);
  const odd = raw.logprobs.find((value) => !Number.isFinite(value) || value > ROUNDING || value < FLOOR);
  if (odd !== undefined) {
    return odd > ROUNDING && Number.isFinite(odd)
      ? nonsense(`log-probability ${odd} is above 0`)
      : failed("not_finite", `${name}: a sampled token has log-probability ${odd}`);
  }
  const found = versionsOf(raw.spans, raw.ids.length, rules);
  if (found.foreign !== undefined) {
    return failed(
      "forgotten",
      `${name}: it sampled with weights called "${found.foreign.slice(0, 40)}", not of this run`,
    );
  }
  if (found.versions === undefined) return nonsense(found.wrong);
  const greedy = ask.sampling.temperature === 0;
  return {
    ids: Int32Array.from(raw.ids),
    // What is drawn greedily is drawn for certain.
    mu: Float32Array.from(raw.logprobs, (value) => (greedy ? 0 : Math.min(0, value))),
    versions: found.versions,
    finish: raw.finish,
  };
};
