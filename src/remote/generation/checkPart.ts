/**
 * Checks a part that a server sampled: its size, ids, log-probabilities and versions. Invariant: a checked part has as many ids as
 * requested or fewer, and for each one finite log-probability, not above 0, and one version of this run.
 */
import type { Version } from "../../domain/Episode.ts";
import type { SampledPart, ServerRequest } from "./Dialect.ts";
import { type ServerFailure, serverFailure } from "./ServerFailure.ts";

/** The tokens [start, end) that the weights with one label sampled. */
export interface LabelledSpan {
  readonly version: string;
  readonly start: number;
  readonly end: number;
}

/** A part as the server reports it, unchecked. */
export interface RawPart {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly spans: readonly LabelledSpan[];
  readonly finish: string;
}

export interface PartRules {
  /** Name of the server, for messages. */
  readonly name: string;
  readonly vocabSize: number;
  /** The version that a label stands for; undefined if it is not of this run. */
  readonly versionOf: (label: string) => Version | undefined;
}

/** Rounding may put a log-probability so far above 0. */
const ROUNDING = 1e-3;
/** Servers write about -9999 for minus infinity, which JSON does not have; lower values count as infinite. */
const FLOOR = -9_000;

const wrongSize = ({ ids, logprobs }: RawPart, { maxTokens }: ServerRequest): string | undefined => {
  if (ids.length === 0) return "it has no token";
  if (ids.length > maxTokens) return `it has ${ids.length} tokens, and ${maxTokens} were asked for`;
  if (logprobs.length !== ids.length) return `it has ${logprobs.length} log-probabilities of ${ids.length} tokens`;
  return undefined;
};

/** Returns the version of each token, or the reason why the spans do not give them. */
const versionsOf = (spans: readonly LabelledSpan[], count: number, { versionOf }: PartRules) => {
  const versions = new Int32Array(count);
  let covered = 0;
  for (const { end, start, version: label } of spans) {
    if (start !== covered || !(end >= start) || end > count)
      return { wrong: `its versions do not cover its tokens in order` };
    const version = versionOf(label);
    if (version === undefined) return { foreign: label };
    versions.fill(version, start, end);
    covered = end;
  }
  return covered === count ? { versions } : { wrong: `its versions cover ${covered} of ${count} tokens` };
};

/** Returns the checked part, or what is wrong with it. */
export const checkPart = (raw: RawPart, request: ServerRequest, rules: PartRules): SampledPart | ServerFailure => {
  const { name, vocabSize } = rules;
  const nonsense = (what: string) => serverFailure("nonsense", `${name}: an answer cannot be used: ${what}`);
  if (raw.finish === "abort") return serverFailure("interrupted", `${name}: it ended a request before its end`);
  if (raw.finish !== "stop" && raw.finish !== "length") return nonsense(`it ended by "${raw.finish.slice(0, 40)}"`);
  const size = wrongSize(raw, request);
  if (size !== undefined) return nonsense(size);
  const foreign = raw.ids.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabSize);
  if (foreign !== undefined) return nonsense(`id ${foreign} is outside the vocabulary of ${vocabSize}`);
  const odd = raw.logprobs.find((value) => !Number.isFinite(value) || value > ROUNDING || value < FLOOR);
  if (odd !== undefined) {
    return odd > ROUNDING && Number.isFinite(odd)
      ? nonsense(`log-probability ${odd} is above 0`)
      : serverFailure("not_finite", `${name}: a sampled token has log-probability ${odd}`);
  }
  const spans = versionsOf(raw.spans, raw.ids.length, rules);
  if (spans.foreign !== undefined) {
    return serverFailure(
      "forgotten",
      `${name}: it sampled with weights called "${spans.foreign.slice(0, 40)}", not of this run`,
    );
  }
  if (spans.versions === undefined) return nonsense(spans.wrong);
  const isGreedy = request.sampling.temperature === 0;
  return {
    ids: Int32Array.from(raw.ids),
    // A greedy draw is certain.
    mu: Float32Array.from(raw.logprobs, (value) => (isGreedy ? 0 : Math.min(0, value))),
    versions: spans.versions,
    finish: raw.finish,
  };
};
