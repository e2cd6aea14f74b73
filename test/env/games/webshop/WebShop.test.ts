/** WebShop over the wire, in a shop of two shirts. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as Sessions from "../../../../src/env/openenv/Sessions.ts";
import { instanceOf } from "../../contract/players.ts";
import { asyncPreset } from "../../contract/presets.ts";
import { keyOfSeed, playSeven, resetOnForeignServer } from "../../openenv/playing.ts";
import { patient } from "../../openenv/serving.ts";
import { type Shop, shop } from "./shop.ts";

let server: Shop;
beforeEach(async () => {
  server = await shop();
});
afterEach(async () => {
  await server.close();
  expect(Sessions.openCount()).toBe(0);
});

const webshop = (keys: Readonly<Record<string, unknown>> = {}, tag = "WebShop") =>
  asyncPreset(tag, { url: server.url, retries: 0, ...keys });

const play = (actions: readonly string[], keys: Readonly<Record<string, unknown>> = {}) =>
  playSeven(webshop(keys), actions);

const actionsIn = (text: string): string => text.split("\n You must choose from these actions:")[1] ?? "";
const toItem = ["search[red shirt]", "click[B01]"];

describe("a page", () => {
  it("is shown with nine lines of advice and the list of its actions", async () => {
    const { environment, state } = await play([]);
    const text = environment.render(state);
    expect(text).toMatch(
      /^WebShop \[SEP\] Instruction: \[SEP\] Find me a shirt number 7, with size: large \[SEP\] Search\./,
    );
    expect(text.split("\n")).toHaveLength(10);
    expect(actionsIn(text)).toBe("search[<content>].");
    expect(environment.actions(state)).toBeNull();
  });

  it("speaks of the actions the preset allows", async () => {
    for (const [tag, limit] of [
      ["WebShop", 9],
      ["WebShopFull", 15],
    ] as const) {
      const environment = webshop({}, tag);
      const state = await environment.reset(instanceOf(1), "train", patient());
      expect(environment.render(state)).toContain(`within ${limit} actions`);
    }
  });

  it("lists what can be clicked", async () => {
    const { environment, state } = await play(toItem);
    expect(actionsIn(environment.render(state))).toBe(
      "click[back to search], click[< prev], click[description], click[features], click[reviews], click[buy now], click[small], click[large].",
    );
  });

  it("without products does not show the way further", async () => {
    const { environment, last, state } = await play(["search[red shirt]", "click[next >]"]);
    expect(actionsIn(environment.render(state))).toBe("click[back to search], click[< prev].");
    expect(last.info).toMatchObject({ end_of_page: true });
  });

  it("is compact in at most 45 words of ASCII, its actions first", async () => {
    const { environment, state } = await play(toItem);
    const compact = environment.compact(state);
    expect(compact).toMatch(/^click\[back to search\] .*click\[large\] for Find me a shirt number 7/);
    expect(compact.split(" ").length).toBeLessThanOrEqual(45);
    expect(compact).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe("an action", () => {
  it("in another case reaches the button", async () => {
    const { last } = await play(["search[red shirt]", "click[b01]"]);
    expect(last.info).toMatchObject({ action_is_valid: true, action_is_effective: true });
    expect((await play([...toItem, "click[LARGE]", "click[Buy Now]"])).last.reward).toBe(1);
  });

  it("that turns no page is valid and not effective", async () => {
    const { last } = await play([...toItem, "click[large]"]);
    expect(last.info).toMatchObject({ action_is_valid: true, action_is_effective: false });
  });

  it.for(["click[b99]", "click[search]", "search[]", "search", "buy", "click[description]", ""])(
    "the page does not have (%j) changes nothing and never reaches the shop",
    async (action) => {
      const { environment, last, state } = await play([action]);
      expect(last).toMatchObject({
        reward: 0,
        terminated: false,
        info: { action_is_valid: false, action_is_effective: false },
      });
      expect(environment.render(state)).toContain("WebShop [SEP]");
      expect(server.actions()).toEqual([]);
    },
  );

  it("searches only where there is a search bar", async () => {
    const { transitions } = await play(["search[shirt]", "search[shirt]"]);
    expect(transitions.map(({ info }) => info.action_is_valid)).toEqual([true, false]);
  });
});

describe("the purchase", () => {
  it("of the right product ends the episode with reward 1", async () => {
    const { last } = await play([...toItem, "click[large]", "click[buy now]"]);
    expect(last).toMatchObject({
      reward: 1,
      terminated: true,
      truncated: false,
      info: {
        success: true,
        total_reward: 1,
        total_raw_reward: 1,
        total_success_purchase: true,
        total_success_find: true,
        end_of_page: false,
      },
    });
  });

  it("of a product that matches in part ends it with reward 0, and keeps the shop's score", async () => {
    const { last } = await play([...toItem, "click[buy now]"]);
    expect(last).toMatchObject({
      reward: 0,
      terminated: true,
      info: {
        success: false,
        total_reward: 0,
        total_raw_reward: 0.5,
        total_success_purchase: true,
        total_success_find: false,
      },
    });
  });

  it("is the last thing that happens", async () => {
    const { state, transitions } = await play([...toItem, "click[large]", "click[buy now]", "search[hat]"]);
    const [bought, after] = transitions.slice(-2);
    expect(after).toMatchObject({ state: bought!.state, reward: 0, terminated: true, info: { success: true } });
    expect(state).toEqual(bought!.state);
  });
});

describe("the shop is told", () => {
  it("the seed, what is played, and its settings", async () => {
    await play([]);
    expect(server.resets()).toEqual([
      {
        seed: 7,
        mode: "train",
        dataset: "small",
        observation_mode: "text",
        human_goals: false,
        limit_goals: -1,
        num_products: null,
        show_attrs: false,
      },
    ]);
  });

  it("the goal too, where the number of goals is known", async () => {
    await play([], { goals: 2_000 });
    expect(server.resets()[0]).toMatchObject({ seed: 7, session: 566 });
  });

  it("of validation as RAGEN splits it", async () => {
    for (const [eval_goals, session] of [
      ["val", 790],
      ["test", 1_432],
    ] as const) {
      const environment = webshop({ goals: 2_000, eval_goals });
      await environment.reset(instanceOf(7), "val", patient());
      expect(server.resets().at(-1)).toMatchObject({ mode: eval_goals, session });
    }
  });
});

describe("an instance", () => {
  it("is named by its goal", async () => {
    const environment = webshop();
    const key = (seed: number) => keyOfSeed(environment, seed);
    expect(await key(7)).toBe(await key(7));
    expect(await key(7)).not.toBe(await key(8));
    expect(await key(7)).toMatch(/^webshop:/);
  });

  it("cannot be had from a server that is no shop", async () => {
    expect(await resetOnForeignServer((url) => webshop({ url }))).toMatchObject({ reason: "nonsense" });
  });
});

describe("WebShop", () => {
  it("lacks a shop where none listens, and says what to start", async () => {
    expect(await webshop().lacks?.()).toEqual([]);
    const { url } = server;
    await server.close();
    expect(await webshop({ url }).lacks?.()).toEqual([expect.stringMatching(/webshop\/server\.py.*env_config\.url/)]);
    server = await shop();
  });
});
