/** `millrace serve-env` from outside: it says where it serves, refuses a port in use, and ends well when told to. */
import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { started } from "./process.ts";

const startWith = (variables: NodeJS.ProcessEnv, ...words: readonly string[]) =>
  started(["serve-env", ...words], variables);
const start = (...words: readonly string[]) => startWith({ MILLRACE_TOKEN: "" }, ...words);

const token = "0123456789abcdef";

describe("millrace serve-env", () => {
  it("says where it serves, answers there, and ends with 0 on an interrupt", async () => {
    const { child, ended, spoken } = start("FrozenLake", "--port", "0");
    const url = /at (http:\/\/127\.0\.0\.1:\d+) /.exec(await spoken)?.[1];
    expect(await (await fetch(`${url}/metadata`)).json()).toMatchObject({ name: "FrozenLake" });
    child.kill("SIGINT");
    expect(await ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("refuses a port in use with 2, and names the nearest free one", async () => {
    const occupant = createServer();
    const port = await new Promise<number>((resolve) =>
      occupant.listen(0, "127.0.0.1", () => resolve((occupant.address() as { port: number }).port)),
    );
    const { code, stderr, stdout } = await start("FrozenLake", "--port", String(port)).ended;
    occupant.close();
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^--port: ${port}: in use on 127.0.0.1; nearest: \\d+\\n$`));
  });

  it("refuses with 2 to serve other machines without a token, and to take a weak one", async () => {
    const wide = ["FrozenLake", "--port", "0", "--host", "0.0.0.0"];
    const cases = [
      [start(...wide), '--host: "0.0.0.0" is open to other machines, so clients must send a token: set MILLRACE_TOKEN'],
      [startWith({ MILLRACE_TOKEN: "short" }, ...wide), "MILLRACE_TOKEN: a token has 16 characters at least"],
      [start(...wide, "--token-file", "no-such-file"), '--token-file: "no-such-file" cannot be read'],
    ] as const;
    for (const [{ ended }, message] of cases) {
      const { code, stderr, stdout } = await ended;
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(message);
      expect(stderr.trim().split("\n")).toHaveLength(1);
    }
  });

  it("serves other machines where there is a token, and says it to nobody", async () => {
    const words = ["FrozenLake", "--port", "0", "--host", "0.0.0.0"];
    const { child, ended, spoken } = startWith({ MILLRACE_TOKEN: token }, ...words);
    const port = /at http:\/\/0\.0\.0\.0:(\d+) /.exec(await spoken)?.[1];
    const statusWith = async (headers: Record<string, string>) =>
      (await fetch(`http://127.0.0.1:${port}/health`, { headers })).status;
    expect(await statusWith({})).toBe(401);
    expect(await statusWith({ authorization: `Bearer ${token}` })).toBe(200);
    child.kill("SIGINT");
    const { code, stderr, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(token);
    expect(stderr).toContain("not encrypted");
  });
});
