/**
 * An environment that is played by an OpenEnv server: one of ours, or any other, whose observations are read as `env_config` says. An
 * environment of ours gives over the wire the instances, transitions and texts it gives locally. A failure of the server costs one
 * episode.
 */
import { Option, Schema } from "effect";
import type { Random } from "../../domain/Random.ts";
import type { AsyncEnvironment, Introduction } from "../contract/AsyncEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../contract/Environment.ts";
import { IllegalAction } from "../contract/IllegalAction.ts";
import { longestMs } from "./Connection.ts";
import { lacking } from "./health.ts";
import { described } from "./introduction.ts";
import type { Payload } from "./Protocol.ts";
import { remoteAction } from "./RemoteAction.ts";
import { RemoteConfig } from "./RemoteConfig.ts";
import * as RemoteEpisode from "./RemoteEpisode.ts";
import { RemoteError } from "./RemoteError.ts";
import { keyOf, type Reading, read, type Shown } from "./reading.ts";

export interface RemoteState {
  readonly episode: RemoteEpisode.RemoteEpisode;
  readonly contentKey: string;
  readonly shown: Shown;
  readonly ended: { readonly terminated: boolean; readonly truncated: boolean; readonly success: boolean } | null;
}

/** The three common fields, and whatever numbers a server of ours adds. */
export type RemoteInfo = BaseInfo & { readonly [field: string]: number | boolean };

const Info = Schema.StructWithRest(
  Schema.Struct({ success: Schema.Boolean, action_is_effective: Schema.Boolean, action_is_valid: Schema.Boolean }),
  [Schema.Record(Schema.String, Schema.Union([Schema.Finite, Schema.Boolean]))],
);
const decodeInfo = Schema.decodeUnknownOption(Info);

/** The first observation, and the key of its instance. */
const firstOf = ({ said, shown }: Reading): Pick<RemoteState, "contentKey" | "shown"> => ({
  contentKey: said?.contentKey ?? keyOf("remote", shown.text),
  shown,
});

const reset = async (config: RemoteConfig, random: Random, split: Split, signal: AbortSignal): Promise<RemoteState> => {
  const seed = RemoteEpisode.seedOf(random);
  const ours = config.stream_keys ? { split, instance: random.key } : {};
  const instance = { ...config.reset_options, seed, ...ours };
  const begun = await RemoteEpisode.reset(config, instance, random, signal, (payload) =>
    firstOf(read(config, payload)),
  );
  return { episode: begun.episode, ...begun.first, ended: null };
};

/** The transition of an action that changes nothing: it could not be read, or the episode is over. */
const still = (state: RemoteState, valid: boolean): Transition<RemoteState, RemoteInfo> => {
  const { success = false, terminated = false, truncated = false } = state.ended ?? {};
  const info = { success, action_is_effective: false, action_is_valid: valid };
  return { state, reward: 0, terminated, truncated, info };
};

const infoOf = (config: RemoteConfig, before: Shown, { reward, said, shown, terminated }: Reading): RemoteInfo => {
  if (said === null) {
    return {
      success: terminated && reward >= config.success_reward,
      action_is_effective: shown.text !== before.text,
      action_is_valid: true,
    };
  }
  const info = decodeInfo(said.info);
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
  if (state.ended !== null) return still(state, true);
  const sent = remoteAction(config, action, noise.key);
  if (sent === null) return still(state, false);
  const { answer, episode } = await RemoteEpisode.step(config, state.episode, sent, noise, signal, {
    shown: { contentKey, shown },
    first: (payload) => firstOf(read(config, payload)),
    next: (payload: Payload) => {
      const reading = read(config, payload);
      return { reading, info: infoOf(config, shown, reading) };
    },
  });
  if (answer === null) {
    // A server may reject free text as an action; that costs a turn, not the episode.
    if (valid === null) return still({ ...state, episode }, false);
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
    contentKey: reading.said?.contentKey ?? contentKey,
    shown: reading.shown,
    ended: terminated || truncated ? { terminated, truncated, success: info.success } : null,
  };
  return { state: next, reward, terminated, truncated, info };
};

/** A Millrace server describes what it plays; for another server the configuration says how replies are read. */
const describe = async (config: RemoteConfig): Promise<Partial<Introduction>> => {
  const said = await described(config);
  if (said === null) return { wholeAnswer: config.whole_answer };
  const { actions_in_state: actionsInState = false, whole_rewards: wholeRewards = false } = said;
  return {
    type: said.env_type,
    legend: config.legend || said.legend,
    wholeAnswer: said.whole_answer || config.whole_answer,
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
  timeoutMs: longestMs,
  lacks: (config) => lacking(config, "an OpenEnv server there (`millrace serve-env TAG --port N` serves a preset)"),
};
