/** A server with a token, played by our own client, which has the token from the environment. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import * as Sessions from "../../../src/env/openenv/Sessions.ts";
import { instanceOf, noiseOf } from "../contract/players.ts";
import { preset } from "../contract/presets.ts";
import { local, patient, type Running, rejection, remote, running } from "./serving.ts";

const token = "0123456789abcdef";
const variable = "MILLRACE_TEST_TOKEN";
let server: Running;
beforeAll(async () => {
  server = await running(preset("FrozenLake"), { guard: { ...local, token } });
});
afterAll(() => server.close());
afterEach(() => {
  delete process.env[variable];
  expect(Sessions.openCount()).toBe(0);
});

describe.for(["ws", "http"] as const)("over %s, a client", (transport) => {
  it("with the token plays", async () => {
    process.env[variable] = `${token}\n`;
    const environment = remote(server.url, { transport, token_variable: variable });
    expect(await environment.lacks?.()).toEqual([]);
    const start = await environment.reset(instanceOf(3), "train", patient());
    const { state } = await environment.step(start, "Up", noiseOf(3, 0, 0), patient());
    await environment.release?.(state);
  });

  it("without it is refused", async () => {
    for (const keys of [{}, { token_variable: variable }]) {
      const environment = remote(server.url, { transport, ...keys });
      const error = await rejection(environment.reset(instanceOf(3), "train", patient()));
      expect(error.message).toContain("401");
    }
  });
});

describe("what a client lacks", () => {
  it("is the key that names the token, where the server asks for one", async () => {
    expect(await remote(server.url).lacks?.()).toEqual([
      `${server.url}/health asks for a token: env_config.token_variable names the environment variable that has it`,
    ]);
  });

  it("is the variable that the key names, and no server is asked", async () => {
    const lacks = await remote("http://127.0.0.1:9", { token_variable: variable }).lacks?.();
    expect(lacks).toEqual([
      `env_config.token_variable: the environment has no variable ${variable}, so http://127.0.0.1:9 is not asked`,
    ]);
  });

  it("is no token in the configuration itself", () => {
    expect(() => remote(server.url, { token_variable: "Bearer 0123" })).toThrow("token_variable");
  });
});
