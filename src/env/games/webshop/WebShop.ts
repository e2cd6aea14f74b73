/**
 * WebShop (Yao et al. 2022), played by an OpenEnv server: find a product by its description, choose its options and buy it, by
 * `search[words]` and `click[button]`. A purchase ends the episode; one that matches in full earns 1, any other 0. Invariant: an action
 * that the page does not have changes nothing and is not sent. Unlike RAGEN's, the first state is the first page, and the advice speaks of
 * `action_limit` actions.
 */
import { Schema } from "effect";
import type { Random } from "../../../domain/Random.ts";
import type { AsyncEnvironment } from "../../contract/AsyncEnvironment.ts";
import type { BaseInfo, Split, Transition } from "../../contract/Environment.ts";
import { decodeOrThrow } from "../../openenv/Channel.ts";
import { maxRequestMs } from "../../openenv/Connection.ts";
import { lacksServer } from "../../openenv/health.ts";
import type { JsonObject, Payload } from "../../openenv/Protocol.ts";
import * as RemoteEpisode from "../../openenv/RemoteEpisode.ts";
import { keyOf, rewardOf, shortened } from "../../openenv/readPayload.ts";
import { goalOf } from "./goals.ts";
import { hasAction, isEndOfPage, type Page, PageObservation, pageActions, pageText } from "./Page.ts";
import { WebShopConfig } from "./WebShopConfig.ts";

export interface WebShopState {
  readonly episode: RemoteEpisode.RemoteEpisode;
  readonly contentKey: string;
  /** The goal in words; empty if the server does not say. */
  readonly instruction: string;
  readonly page: Page;
  /** True if the purchase that ended the episode was the right one; null before it. */
  readonly bought: boolean | null;
}

export interface WebShopInfo extends BaseInfo {
  readonly total_reward: number;
  /** The shop's score of the purchase, between 0 and 1. */
  readonly total_raw_reward: number;
  readonly total_success_purchase: boolean;
  readonly total_success_find: boolean;
  readonly end_of_page: boolean;
}

const decodeObservation = Schema.decodeUnknownResult(PageObservation);

const observationOf = ({ url }: WebShopConfig, { observation }: Payload) => {
  const decodedPage = decodeOrThrow(decodeObservation(observation), JSON.stringify(observation), url);
  const { clickables, has_search_bar: hasSearchBar } = decodedPage.available_actions;
  const page: Page = { text: decodedPage.text, hasSearchBar, clickables: clickables.map((name) => name.toLowerCase()) };
  return { page, instruction: decodedPage.instruction ?? "" };
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

/** The transition without effect, of an action that the page does not have or that comes after the end. */
const unchangedTransition = (state: WebShopState, valid: boolean): Transition<WebShopState, WebShopInfo> => {
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
      end_of_page: isEndOfPage(state.page),
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
  const valid = hasAction(page, action);
  if (state.bought !== null || !valid) return unchangedTransition(state, valid);
  const { answer, episode } = await RemoteEpisode.step(config, state.episode, { action }, noise, signal, {
    shown: { page, instruction },
    first: (payload) => observationOf(config, payload),
    next: (payload) => ({ seen: observationOf(config, payload), raw: rewardOf(payload), done: payload.done ?? false }),
  });
  if (answer === null) return unchangedTransition({ ...state, episode }, false);
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
      end_of_page: isEndOfPage(seen.page),
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
  /** The page's actions come first, because a small model has to name one of them. */
  compact: (_config, { instruction, page }) =>
    shortened(`${pageActions(page).join(" ")} for ${instruction || page.text}`),
  actions: () => null,
  legend: () => "",
  contentKey: (_config, { contentKey }) => contentKey,
  capacity: ({ capacity }) => capacity,
  timeoutMs: maxRequestMs,
  lacks: (config) =>
    lacksServer(
      config,
      "a WebShop server there (src/env/games/webshop/server.py is one, over the package webshop-minimal)",
    ),
};
