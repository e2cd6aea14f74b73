/** A remote environment takes its description from its server before the first reset, or from its configuration if the server has none. */
import { Effect } from "effect";
import { afterEach, describe, expect, it } from "vitest";
import type {
  AnyEnvironment,
  BaseEnvironment,
  BoundAsyncEnvironment,
} from "../../../src/env/contract/BoundEnvironment.ts";
import { describeAll } from "../../../src/env/contract/prepare.ts";
import { timeLimit } from "../../../src/env/wrappers/timeLimit.ts";
import { wrap } from "../../../src/env/wrappers/Wrapper.ts";
import { preset } from "../contract/presets.ts";
import { rejection, remote, running } from "./serving.ts";
import { json, type Script, standIn } from "./standIn.ts";

const closing: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const server of closing.splice(0)) await server.close();
});
const serving = async (tag: string) => {
  const server = await running(preset(tag));
  closing.push(server);
  return server;
};
const foreign = async (script: Script = {}) => {
  const server = await standIn(script);
  closing.push(server);
  return server;
};

const said = ({ actionsInState, legend, type, wholeAnswer, wholeRewards }: BaseEnvironment) => ({
  type,
  legend,
  wholeAnswer,
  wholeRewards,
  actionsInState,
});
const silent = { wholeRewards: false, actionsInState: false };
const introduced = (environment: BoundAsyncEnvironment) => environment.describe!();

describe("a remote environment, once introduced,", () => {
  it.for(["CoordSokoban", "StaticGSM8K", "FrozenLake", "Bandit"])("says of itself what %s says here", async (tag) => {
    const { url } = await serving(tag);
    expect(said(await introduced(remote(url)))).toEqual(said(preset(tag)));
  });

  it("keeps the legend it was given", async () => {
    const { url } = await serving("CoordSokoban");
    expect((await introduced(remote(url, { legend: "# is a hedge." }))).legend).toBe("# is a hedge.");
  });

  it.for([
    ["no such page", (response: Parameters<typeof json>[0]) => json(response, 404, { detail: "Not Found" })],
    ["a page for people", (response: Parameters<typeof json>[0]) => response.end("<html>")],
    ["something else", (response: Parameters<typeof json>[0]) => json(response, 200, { source: "elsewhere" })],
  ] as const)("is as configured where the server has %s", async ([, answer]) => {
    const { url } = await foreign({ http: (_request, _body, response) => answer(response) });
    const keys = { whole_answer: true, legend: "A line." };
    const configured = { type: "remote", legend: "A line.", wholeAnswer: true, ...silent };
    expect(said(await introduced(remote(url, keys)))).toEqual(configured);
    expect(said(await introduced(remote(url)))).toEqual({ type: "remote", legend: "", wholeAnswer: false, ...silent });
  });

  it("is not asked again", async () => {
    const { url } = await foreign();
    expect((await introduced(remote(url))).describe).toBeNull();
  });

  it("is so inside its wrappers", async () => {
    const { url } = await serving("StaticGSM8K");
    const wrapped = wrap(remote(url), timeLimit({ max_steps: 2 })) as BoundAsyncEnvironment;
    expect(said(await introduced(wrapped))).toEqual(said(preset("StaticGSM8K")));
  });

  it("is none where the server is gone", async () => {
    const { close, url } = await standIn({});
    await close();
    expect(await rejection(introduced(remote(url)))).toMatchObject({ reason: "unreachable" });
  });
});

describe("the environments of a run", () => {
  it("are introduced by their tags, those of this process as they are", async () => {
    const { url } = await serving("CoordSokoban");
    const lake = preset("FrozenLake");
    const environments = new Map<string, AnyEnvironment>([
      ["Far", remote(url)],
      ["Near", lake],
    ]);
    const found = await Effect.runPromise(describeAll(environments));
    expect([...found].map(([tag, { type }]) => [tag, type])).toEqual([
      ["Far", "sokoban"],
      ["Near", "frozen_lake"],
    ]);
    expect(found.get("Near")).toBe(lake);
  });

  it("are none where one cannot be asked, and its tag is named", async () => {
    const { close, url } = await standIn({});
    await close();
    const error = await Effect.runPromise(Effect.flip(describeAll(new Map([["Far", remote(url)]]))));
    expect(error).toMatchObject({ _tag: "EnvironmentError", tag: "Far", message: expect.stringContaining(url) });
  });
});
