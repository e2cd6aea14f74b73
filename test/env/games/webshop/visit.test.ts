/** A visit to webshop-minimal's shop of eleven invented shirts, as recorded from src/env/games/webshop/server.py: each page and the next action. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { instanceOf, noiseOf } from "../../contract/players.ts";
import { asyncPreset } from "../../contract/presets.ts";
import { patient } from "../../openenv/serving.ts";
import { observe, type StandIn, standIn } from "../../openenv/standIn.ts";

interface Turn {
  /** The action that led to the page; null for the reset. */
  readonly action: string | null;
  readonly observation: { readonly text: string; readonly available_actions: { readonly clickables: string[] } };
  readonly reward: number | null;
  readonly done: boolean;
}

const visit: readonly Turn[] = JSON.parse(readFileSync(new URL("visit.json", import.meta.url), "utf8"));
const actions = visit.slice(1).map(({ action }) => action!);

let server: StandIn;
let heard: string[];
beforeEach(async () => {
  heard = [];
  server = await standIn({
    hear: (socket, { data, type }) => {
      if (type === "step") heard.push(String(data.action));
      const { done, observation, reward } = visit[heard.length]!;
      observe(socket, observation, reward, done);
    },
  });
});
afterEach(() => server.close());

const play = async (moves: readonly string[]) => {
  const environment = asyncPreset("WebShop", { url: server.url, retries: 0 });
  let state = await environment.reset(instanceOf(7), "train", patient());
  const turns = [];
  for (const [at, action] of moves.entries()) {
    const transition = await environment.step(state, action, noiseOf(7, 0, at), patient());
    state = transition.state;
    turns.push({ ...transition, text: environment.render(state), compact: environment.compact(state) });
  }
  await environment.release?.(state);
  return turns;
};

const shown = (text: string): string => text.split("You must choose from these actions:")[1]!;
const upTo = (action: string): readonly string[] => actions.slice(0, actions.indexOf(action) + 1);

describe("the real shop", () => {
  it("is walked to the purchase", async () => {
    const turns = await play(actions);
    expect(heard).toEqual(actions);
    expect(turns.map(({ info }) => info.action_is_valid)).toEqual(actions.map(() => true));
    expect(turns.map(({ terminated }) => terminated)).toEqual(actions.map((action) => action === "click[buy now]"));
    expect(turns.at(-1)).toMatchObject({
      reward: 1,
      info: { success: true, total_raw_reward: 1, total_success_purchase: true, total_success_find: true },
    });
  });

  it("lists the options after the buttons", async () => {
    const [item] = (await play(upTo("click[mill000000]"))).slice(-1);
    expect(shown(item!.text)).toBe(
      "click[back to search], click[< prev], click[description], click[features], click[reviews], click[buy now], click[small], click[large], click[2x | tall], click[oat], click[navy [dyed]].",
    );
    expect(item!.compact).toMatch(/ for Find me a machine wash linen shirt .*color: oat/);
  });

  it("shows the same page after an option is chosen, which is then not effective", async () => {
    const [chosen] = (await play(upTo("click[oat]"))).slice(-1);
    expect(chosen!.info).toMatchObject({ action_is_valid: true, action_is_effective: false });
  });

  it("does not take an option with brackets, and is not asked", async () => {
    const toItem = upTo("click[mill000000]");
    const [refused] = (await play([...toItem, "click[navy [dyed]]"])).slice(-1);
    expect(refused!.info).toMatchObject({ action_is_valid: false });
    expect(heard).toEqual(toItem);
  });

  it("goes on past its last page, where only the ways back are shown", async () => {
    const [second, third] = (await play(actions.slice(0, 3))).slice(-2);
    expect(shown(second!.text)).toBe("click[back to search], click[< prev], click[next >], click[mill000010].");
    expect(second!.info).toMatchObject({ end_of_page: false });
    expect(shown(third!.text)).toBe("click[back to search], click[< prev].");
    expect(third!.info).toMatchObject({ end_of_page: true });
  });
});
