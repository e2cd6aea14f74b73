/**
 * An environment that an OpenEnv server plays: one of ours, or any other, whose observations are read as `env_config` says. Invariants: one of our
 * environments gives the same instances, transitions and texts over the network as locally, and a failure of the server costs one episode.
 */
import { Option, Schema } from "effect";
import type { Random } from "../../domain/Random.ts";
import type { AsyncEnvironment, Introduction } from "../contract/AsyncEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../contract/Environment.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { type Connection, maxRequestMs } from "./Connection.ts";
import { get } from "./exchange.ts";
import { lacksServer } from "./health.ts";
import { descriptionPath, type Payload } from "./Protocol.ts";
import { remoteAction } from "./RemoteAction.ts";
import { RemoteConfig } from "./RemoteConfig.ts";
import * as RemoteEpisode from "./RemoteEpisode.ts";
import { RemoteError } from "./RemoteError.ts";
import { keyOf, type PayloadReading, readPayload, type ShownState } from "./readPayload.ts";
import { withRetries } from "./retry.ts";
import { EnvironmentDescription } from "./ServedObservation.ts";

export interface RemoteState {
  readonly episode: RemoteEpisode.RemoteEpisode;
  readonly contentKey: string;
  readonly shown: ShownState;
  readonly ended: { readonly terminated: boolean; readonly truncated: boolean; readonly success: boolean } | null;
}

/** The three common fields, and the numbers that a Millrace server adds. */
export type RemoteInfo = BaseInfo & { readonly [field: string]: number | boolean };

const Info = Schema.StructWithRest(
  Schema.Struct({ success: Schema.Boolean, action_is_effective: Schema.Boolean, action_is_valid: Schema.Boolean }),
  [Schema.Record(Schema.String, Schema.Union([Schema.Finite, Schema.Boolean]))],
);
const decodeInfo = Schema.decodeUnknownOption(Info);

/** The first observation, and the key of its instance. */
const firstOf = ({ millrace, shown }: PayloadReading): Pick<RemoteState, "contentKey" | "shown"> => ({
  contentKey: millrace?.contentKey ?? keyOf("remote", shown.text),
  shown,
});

const reset = async (config: RemoteConfig, random: Random, split: Split, signal: AbortSignal): Promise<RemoteState> => {
  const seed = RemoteEpisode.seedOf(random);
  const ours = config.stream_keys ? { split, instance: random.key } : {};
  const instance = { ...config.reset_options, seed, ...ours };
  const begun = await RemoteEpisode.reset(config, instance, random, signal, (payload) =>
    firstOf(readPayload(config, payload)),
  );
  return { episode: begun.episode, ...begun.first, ended: null };
};

/** The transition of an action that changes nothing, because it cannot be read or comes after the end. */
const unchangedTransition = (state: RemoteState, valid: boolean): Transition<RemoteState, RemoteInfo> => {
  const { success = false, terminated = false, truncated = false } = state.ended ?? {};
  const info = { success, action_is_effective: false, action_is_valid: valid };
  return { state, reward: 0, terminated, truncated, info };
};

const infoOf = (
  config: RemoteConfig,
  before: ShownState,
  { reward, millrace, shown, terminated }: PayloadReading,
): RemoteInfo => {
  if (millrace === null) {
    return {
      success: terminated && reward >= config.success_reward,
      action_is_effective: shown.text !== before.text,
      action_is_valid: true,
    };
  }
  const info = decodeInfo(millrace.info);
  if (Option.isSome(info)) return info.value;
  throw new RemoteError({ reason: "nonsense", message: `${config.url}: the info of a step lacks one of its fields` });
};

const step = async (
  config: RemoteConfig,
  state: RemoteState,
  action: string,
  noise: Random,
  signal: AbortSignal,
): Promise<Transition<RemoteState, RemoteInfo>> => {
  const { contentKey, shown } = state;
  const valid = shown.actions;
  if (valid !== null && !valid.includes(action)) throw new IllegalAction({ env_type: "remote", action, valid });
  if (state.ended !== null) return unchangedTransition(state, true);
  const sent = remoteAction(config, action, noise.key);
  if (sent === null) return unchangedTransition(state, false);
  const { answer, episode } = await RemoteEpisode.step(config, state.episode, sent, noise, signal, {
    shown: { contentKey, shown },
    first: (payload) => firstOf(readPayload(config, payload)),
    next: (payload: Payload) => {
      const reading = readPayload(config, payload);
      return { reading, info: infoOf(config, shown, reading) };
    },
  });
  if (answer === null) {
    // A server may reject free text as an action; that costs a turn, not the episode.
    if (valid === null) return unchangedTransition({ ...state, episode }, false);
    await RemoteEpisode.release(episode);
    throw new RemoteError({
      reason: "invalid",
      message: `${config.url} lists the action ${action} and does not take it`,
    });
  }
  const { info, reading } = answer;
  const { reward, terminated, truncated } = reading;
  const next: RemoteState = {
    episode,
    contentKey: reading.millrace?.contentKey ?? contentKey,
    shown: reading.shown,
    ended: terminated || truncated ? { terminated, truncated, success: info.success } : null,
  };
  return { state: next, reward, terminated, truncated, info };
};

const decodeDescription = Schema.decodeUnknownOption(Schema.fromJsonString(EnvironmentDescription));

/** A Millrace server's description of its environment. A server of another project does not know the path, which gives null. */
const fetchDescription = async (to: Connection): Promise<EnvironmentDescription | null> => {
  const { status, text } = await withRetries(to, null, new AbortController().signal, () => get(to, descriptionPath));
  return status === 200 ? Option.getOrNull(decodeDescription(text)) : null;
};

/** A Millrace server describes what it plays; for another server the configuration says how replies are read. */
const describe = async (config: RemoteConfig): Promise<Partial<Introduction>> => {
  const description = await fetchDescription(config);
  if (description === null) return { wholeAnswer: config.whole_answer };
  const { actions_in_state: actionsInState = false, whole_rewards: wholeRewards = false } = description;
  return {
    type: description.env_type,
    legend: config.legend || description.legend,
    wholeAnswer: description.whole_answer || config.whole_answer,
    wholeRewards,
    actionsInState,
  };
};

export const Remote: AsyncEnvironment<RemoteConfig, RemoteState, RemoteInfo> = {
  type: "remote",
  asynchronous: true,
  config: RemoteConfig,
  reset,
  step,
  release: (_config, { episode }) => RemoteEpisode.release(episode),
  describe,
  render: (_config, { shown }) => shown.text,
  compact: (_config, { shown }) => shown.compact,
  actions: (_config, { shown }) => shown.actions,
  legend: ({ legend }) => legend,
  contentKey: (_config, { contentKey }) => contentKey,
  capacity: ({ capacity }) => capacity,
  timeoutMs: maxRequestMs,
  lacks: (config) => lacksServer(config, "an OpenEnv server there (`millrace serve-env TAG --port N` serves a preset)"),
};
