/**
 * WebShop (Yao et al. 2022): find a product by its description, choose its options and buy it, played by an OpenEnv server. Actions are
 * free text, `search[words]` and `click[button]`; the purchase ends the episode. Reward 1 for a purchase that matches in full (the
 * shop's own score, between 0 and 1, stays in `total_raw_reward`), else 0. Invariant: an action that the page does not have changes nothing and
 * is not sent to the server.
 *
 * Differs from RAGEN in that the first state is the first page, not the instruction alone, and in that the advice speaks of the actions
 * the preset allows (`action_limit`), not always of 10.
 */
import { Schema } from "effect";
import type { Random } from "../../../domain/Random.ts";
import type { AsyncEnvironment } from "../../contract/AsyncEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../../contract/Environment.ts";
import { decoded } from "../../openenv/Channel.ts";
import { longestMs } from "../../openenv/Connection.ts";
import { lacking } from "../../openenv/health.ts";
import type { JsonObject, Payload } from "../../openenv/Protocol.ts";
import * as RemoteEpisode from "../../openenv/RemoteEpisode.ts";
import { keyOf, rewardOf, shortened } from "../../openenv/reading.ts";
import { goalOf } from "./goals.ts";
import { allows, endOfPage, listed, type Page, PageObservation, pageText } from "./Page.ts";
import { WebShopConfig } from "./WebShopConfig.ts";

export interface WebShopState {
  readonly episode: RemoteEpisode.RemoteEpisode;
  readonly contentKey: string;
  /** The goal in words; empty where the server does not say. */
  readonly instruction: string;
  readonly page: Page;
  /** Whether the purchase that ended the episode was the right one; null before it. */
  readonly bought: boolean | null;
}

export interface WebShopInfo extends BaseInfo {
  readonly total_reward: number;
  /** The shop's score of the purchase. */
  readonly total_raw_reward: number;
  readonly total_success_purchase: boolean;
  readonly total_success_find: boolean;
  readonly end_of_page: boolean;
}

const decodeObservation = Schema.decodeUnknownResult(PageObservation);

const observationOf = ({ url }: WebShopConfig, { observation }: Payload) => {
  const seen = decoded(decodeObservation(observation), JSON.stringify(observation), url);
  const { clickables, has_search_bar: hasSearchBar } = seen.available_actions;
  const page: Page = { text: seen.text, hasSearchBar, clickables: clickables.map((name) => name.toLowerCase()) };
  return { page, instruction: seen.instruction ?? "" };
};

const instanceOf = (config: WebShopConfig, seed: number, split: Split): JsonObject => {
  const { dataset, goals, human_goals, limit_goals, num_products, observation_mode, show_attrs } = config;
  const mode = split === "train" ? "train" : config.eval_goals;
  return {
    seed,
    mode,
    ...(goals === 0 ? {} : { session: goalOf(goals, mode, seed) }),
    ...{ dataset, observation_mode, human_goals, limit_goals, num_products, show_attrs },
  };
};

const reset = async (
  config: WebShopConfig,
  random: Random,
  split: Split,
  signal: AbortSignal,
): Promise<WebShopState> => {
  const instance = instanceOf(config, RemoteEpisode.seedOf(random), split);
  const { episode, first } = await RemoteEpisode.reset(config, instance, random, signal, (payload) =>
    observationOf(config, payload),
  );
  const { instruction, page } = first;
  const contentKey = keyOf("webshop", instruction === "" ? page.text : instruction);
  return { episode, contentKey, instruction, page, bought: null };
};

/** A step without effect: the page does not have the action, or the episode is over. */
const still = (state: WebShopState, valid: boolean): Transition<WebShopState, WebShopInfo> => {
  const over = state.bought !== null;
  const success = state.bought ?? false;
  return {
    state,
    reward: 0,
    terminated: over,
    truncated: false,
    info: {
      success,
      action_is_effective: false,
      action_is_valid: valid,
      total_reward: 0,
      total_raw_reward: 0,
      total_success_purchase: false,
      total_success_find: false,
      end_of_page: endOfPage(state.page),
    },
  };
};

const step = async (
  config: WebShopConfig,
  state: WebShopState,
  action: string,
  noise: Random,
  signal: AbortSignal,
): Promise<Transition<WebShopState, WebShopInfo>> => {
  const { instruction, page } = state;
  const valid = allows(page, action);
  if (state.bought !== null || !valid) return still(state, valid);
  const { answer, episode } = await RemoteEpisode.step(config, state.episode, { action }, noise, signal, {
    shown: { page, instruction },
    first: (payload) => observationOf(config, payload),
    next: (payload) => ({ seen: observationOf(config, payload), raw: rewardOf(payload), done: payload.done ?? false }),
  });
  if (answer === null) return still({ ...state, episode }, false);
  const { done, raw, seen } = answer;
  const success = done && raw >= 1;
  return {
    state: { ...state, episode, page: seen.page, bought: done ? success : null },
    reward: success ? 1 : 0,
    terminated: done,
    truncated: false,
    info: {
      success,
      action_is_effective: seen.page.text !== page.text,
      action_is_valid: true,
      total_reward: success ? 1 : 0,
      total_raw_reward: raw,
      total_success_purchase: done,
      total_success_find: success,
      end_of_page: endOfPage(seen.page),
    },
  };
};

export const WebShop: AsyncEnvironment<WebShopConfig, WebShopState, WebShopInfo> = {
  type: "webshop",
  asynchronous: true,
  config: WebShopConfig,
  reset,
  step,
  release: (_config, { episode }) => RemoteEpisode.release(episode),
  render: ({ action_limit }, { page }) => pageText(page, action_limit),
  /** The page's actions first: a small model has to name one of them. */
  compact: (_config, { instruction, page }) => shortened(`${listed(page).join(" ")} for ${instruction || page.text}`),
  actions: () => null,
  legend: () => "",
  contentKey: (_config, { contentKey }) => contentKey,
  capacity: ({ capacity }) => capacity,
  timeoutMs: longestMs,
  lacks: (config) =>
    lacking(
      config,
      "a WebShop server there (src/env/games/webshop/server.py is one, over the package webshop-minimal)",
    ),
};
