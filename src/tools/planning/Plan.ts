/**
 * The memory and the speed to expect of a training run, before it runs: what its owners hold, the most of it at one time, and what each key
 * that can be turned down would save, found by planning again with it changed. Pure.
 */
import { isLearnerRemote } from "../../config/checks/learner.ts";
import type { RunConfig } from "../../config/RunConfig.ts";
import { askedAdapter } from "../../model/graphs/Adapter.ts";
import type { DecoderConfig } from "../../model/graphs/Architecture.ts";
import { deviceItems } from "./DeviceOwners.ts";
import { Models } from "./Models.ts";
import { type Asked, type During, type Item, items } from "./Owners.ts";
import { remedies } from "./remedies.ts";
import { type Speed, speedOf, type Unit } from "./Speed.ts";

export interface Question {
  readonly config: RunConfig;
  readonly decoder: DecoderConfig;
  /** Bytes of the tokenizer's file. */
  readonly tokenizerBytes: number;
  /** What the machine does in a second; null where it was not measured. */
  readonly unit: Unit | null;
}

/** A key with another value, and the bytes that the peak would be lower. */
export interface Saving {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
}

export interface Plan {
  readonly items: readonly Item[];
  /** What is on a device beside it, whose passes' values are among `items` as if they were in host memory. */
  readonly device: readonly Item[];
  /** The most at one time. */
  readonly peak: number;
  /** Null where it was not measured, and where a server trains. */
  readonly speed: Speed | null;
  /** The largest first; one for each key. */
  readonly savings: readonly Saving[];
}

/** What a run file asks the owners about: the decoder with the adapter that is trained, if one is. */
const asking = ({ decoder, ...rest }: Omit<Question, "unit">, models: Models): Asked => {
  const adapter = decoder.adapter ?? askedAdapter(rest.config.model.lora);
  return { ...rest, models, decoder: adapter === undefined ? decoder : { ...decoder, adapter } };
};

const sum = (found: readonly Item[], during: During): number =>
  found.reduce((total, item) => total + (item.during === during ? item.bytes : 0), 0);

/** Weights are handed over behind an update. In async mode both go on beside rollouts, in the others by turns. */
export const peakOf = (found: readonly Item[], mode: RunConfig["pipeline"]["mode"]): number => {
  const update = Math.max(sum(found, "update"), sum(found, "handover"));
  const rollout = sum(found, "rollout");
  return sum(found, "always") + (mode === "async" ? update + rollout : Math.max(update, rollout));
};

/** The peak alone. */
export const expectedPeak = ({ unit: _, ...question }: Question, models = new Models()): number =>
  peakOf(items(asking(question, models)), question.config.pipeline.mode);

/** A saving that is worth a line. */
const LEAST_SAVING = 2 ** 20;

/** `models` may be shared with other plans. */
export const plan = ({ unit, ...question }: Question, models = new Models()): Plan => {
  const { config } = question;
  const asked = asking(question, models);
  const found = items(asked);
  const peak = peakOf(found, config.pipeline.mode);
  const savings = remedies(config)
    .map(({ config: changed, ...key }) => {
      const other = peakOf(items(asking({ ...question, config: changed }, models)), changed.pipeline.mode);
      return { ...key, bytes: peak - other };
    })
    .filter(({ bytes }) => bytes >= LEAST_SAVING)
    .sort((a, b) => b.bytes - a.bytes);
  return {
    items: found,
    device: deviceItems(asked),
    peak,
    speed: unit === null || isLearnerRemote(config.model) ? null : speedOf(asked, unit),
    savings,
  };
};
