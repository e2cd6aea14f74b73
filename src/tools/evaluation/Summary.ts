/**
 * The result of an evaluation: counts, success and return with their intervals, and its cost. A pure function of the finished episodes and
 * of what was counted beside them. It is written to summary.json, the metrics under their own names next to it.
 */
import { Schema } from "effect";
import { instanceDigest } from "../../domain/instanceDigest.ts";
import { clusterBootstrap, type Interval, isPlayedOnce, successInterval } from "../../domain/intervals.ts";
import { type EvaluatedEpisode, promptTokensOf, repliesOf, returnOf, tokensOf } from "./EvaluatedEpisode.ts";

const IntervalOf = Schema.Struct({ mean: Schema.Finite, low: Schema.Finite, high: Schema.Finite });

const Score = Schema.Struct({
  episodes: Schema.Int,
  /** The share of episodes that succeeded. */
  success: Schema.NullOr(IntervalOf),
  /** The mean of an episode's rewards and format penalties. */
  return: Schema.NullOr(IntervalOf),
});
/** Episodes, and their success and return with 95 % intervals; null without an episode. */
export type Score = typeof Score.Type;

/** Unix milliseconds that a date can be of. */
const Moment = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 8.64e15 }));

/** Why an evaluation ended before its last episode. */
export const Stopped = Schema.Struct({
  reason: Schema.Literals(["budget", "circuit", "quota", "refused"]),
  message: Schema.String,
});
export type Stopped = typeof Stopped.Type;

export const Summary = Schema.Struct({
  schema: Schema.Literal(1),
  /** The name of the contestant in tables. */
  name: Schema.String,
  model: Schema.String,
  /** `checkpoint`, or the protocol of the endpoint. */
  kind: Schema.String,
  temperature: Schema.Finite,
  /** Names of the environments and of the texts that were played. */
  versions: Schema.Struct({ environment: Schema.String, template: Schema.String }),
  /** Presets of the validation. */
  tags: Schema.Array(Schema.String),
  /** The template's name. */
  template: Schema.String,
  /** Unix milliseconds of the end. */
  written: Moment,
  planned: Schema.Int,
  finished: Schema.Int,
  succeeded: Schema.Int,
  /** Episodes that could not be played to an end; a resume plays them again. */
  failed: Schema.Int,
  stopped: Schema.NullOr(Stopped),
  /** The method of the interval of `success`. */
  interval: Schema.Literals(["wilson", "bootstrap over instances"]),
  ...Score.fields,
  by_tag: Schema.Record(Schema.String, Score),
  tokens: Schema.Struct({
    prompt: Schema.Int,
    reply: Schema.Int,
    /** Prompt and reply tokens, in one sum: those of unfinished episodes, and those that no finished episode has. */
    lost: Schema.Int,
    /** Replies whose tokens the endpoint did not count; they are missing above. */
    uncounted: Schema.Int,
  }),
  requests: Schema.Int,
  retries: Schema.Int,
  /** Absent where no price is set. */
  cost_usd: Schema.optionalKey(Schema.Finite),
  /** The time of all sessions. */
  seconds: Schema.Finite,
});
/** The result of an evaluation, as `summary.json` has it. */
export type Summary = typeof Summary.Type;

/** The episodes of each instance; seeds of one content are one instance. */
export const byInstance = (episodes: readonly EvaluatedEpisode[]): readonly (readonly EvaluatedEpisode[])[] => [
  ...Map.groupBy(episodes, ({ contentKey, tag }) => instanceDigest(tag, contentKey)).values(),
];

const successOf = (episodes: readonly EvaluatedEpisode[]): Interval =>
  successInterval(byInstance(episodes).map((members) => members.map(({ outcome }) => (outcome.success ? 1 : 0))));

export const scoreOf = (episodes: readonly EvaluatedEpisode[]): Score => {
  if (episodes.length === 0) return { episodes: 0, success: null, return: null };
  const returns = byInstance(episodes).map((members) => members.map(returnOf));
  return { episodes: episodes.length, success: successOf(episodes), return: clusterBootstrap(returns) };
};

/** Facts of a summary that its episodes do not show. */
export type SummaryFacts = Pick<
  Summary,
  | "name"
  | "model"
  | "kind"
  | "temperature"
  | "versions"
  | "tags"
  | "template"
  | "written"
  | "planned"
  | "failed"
  | "stopped"
  | "requests"
  | "retries"
  | "seconds"
> & {
  /** Tokens of episodes that were not finished. */
  readonly lost: number;
  /** In USD; null where no price is set. */
  readonly cost: number | null;
};

export const summaryOf = (episodes: readonly EvaluatedEpisode[], { cost, lost, ...facts }: SummaryFacts): Summary => {
  const byTag = Map.groupBy(episodes, ({ tag }) => tag);
  const sum = (part: (episode: EvaluatedEpisode) => number): number =>
    episodes.reduce((total, episode) => total + part(episode), 0);
  return {
    schema: 1,
    ...facts,
    finished: episodes.length,
    succeeded: sum(({ outcome }) => (outcome.success ? 1 : 0)),
    interval: isPlayedOnce(byInstance(episodes)) ? "wilson" : "bootstrap over instances",
    ...scoreOf(episodes),
    by_tag: Object.fromEntries([...byTag].map(([tag, part]) => [tag, scoreOf(part)])),
    tokens: {
      prompt: sum(promptTokensOf),
      reply: sum(tokensOf),
      lost,
      uncounted: sum((episode) => repliesOf(episode).filter(({ tokens }) => tokens === null).length),
    },
    ...(cost === null ? {} : { cost_usd: cost }),
  };
};
