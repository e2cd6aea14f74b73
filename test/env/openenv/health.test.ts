/** The lacks of a remote environment come from its server's health. */
import { afterEach, describe, expect, it } from "vitest";
import { preset } from "../contract/presets.ts";
import { remote, running } from "./serving.ts";
import { json, type Script, standIn } from "./standIn.ts";

const closing: { readonly close: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const server of closing.splice(0)) await server.close();
});
const lacks = async (script: Script): Promise<readonly string[]> => {
  const server = await standIn(script);
  closing.push(server);
  return (await remote(server.url, { connect_timeout_ms: 100 }).lacks?.()) ?? [];
};

describe("a remote environment lacks", () => {
  it("nothing where a server of ours listens, however its address is written", async () => {
    const server = await running(preset("FrozenLake"));
    closing.push(server);
    for (const url of [server.url, `${server.url}/`, server.url.replace("http", "ws")]) {
      expect(await remote(url).lacks?.()).toEqual([]);
    }
  });

  it("a server where none listens, and is told what to start and which key to set", async () => {
    const server = await running(preset("FrozenLake"));
    await server.close();
    const [sentence, ...rest] = (await remote(server.url).lacks?.()) ?? [];
    expect(rest).toEqual([]);
    expect(sentence).toContain(`${server.url}/health`);
    expect(sentence).toContain("refused");
    expect(sentence).toContain("millrace serve-env");
    expect(sentence).toContain("env_config.url");
  });

  it("a healthy one", async () => {
    expect(
      await lacks({ http: (_request, _body, response) => json(response, 200, { status: "unhealthy" }) }),
    ).toHaveLength(1);
  });

  it.for([
    ["no answer", (): void => undefined],
    [
      "another page",
      (_request: unknown, _body: string, response: Parameters<typeof json>[0]) => response.end("<html>"),
    ],
    ["an error", (_request: unknown, _body: string, response: Parameters<typeof json>[0]) => json(response, 404, {})],
  ] as const)("one that is OpenEnv's where there is %s", async ([, http]) => {
    expect(await lacks({ http: http as NonNullable<Script["http"]> })).toHaveLength(1);
  });
});
