/** Access to the page's server: which requests it accepts from whom, and which data nobody gets. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Exit, Scope } from "effect";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Control } from "../../../../src/domain/Control.ts";
import { BadInput } from "../../../../src/domain/Errors.ts";
import { serve as serveControls } from "../../../../src/observe/control/ControlServer.ts";
import { assertProperty } from "../../../property.ts";
import { writeRun } from "../syntheticRun.ts";
import { ask, type Heard, type Place, path, placed, type Said, type Served, served, token } from "./serving.ts";

const secret = "not-of-a-run-4711";
const scope = Scope.makeUnsafe();
const controls: Control[] = [];
let place: Place;
let server: Served;
let wide: Served;

beforeAll(async () => {
  place = placed();
  writeFileSync(join(place.root, "secret"), secret);
  const handle = (control: Control) =>
    control._tag === "Stop"
      ? Effect.fail(new BadInput({ message: "the run is stopping" }))
      : Effect.sync(() => void controls.push(control));
  await Effect.runPromise(Scope.provide(serveControls(place.folder, handle), scope));
  server = await served([place.folder]);
  wide = await served([place.folder], { isPublic: true });
});
afterAll(async () => {
  await Promise.all([server.close(), wide.close()]);
  await Effect.runPromise(Scope.close(scope, Exit.void));
  place.remove();
});

const bearer = { authorization: `Bearer ${token}` };
const json = { "content-type": "application/json" };
const pause: Control = { _tag: "PauseAdmission" };
const post = (headers: Readonly<Record<string, string>>, body: unknown = pause, at = path("/control")) =>
  ask(server.port, at, { method: "POST", headers, body: JSON.stringify(body) });

describe("controls", () => {
  it("reach the run with the token", async () => {
    controls.length = 0;
    expect(await post({ ...json, ...bearer })).toMatchObject({ status: 204, text: "" });
    expect(controls).toEqual([pause]);
  });

  it("that the run refuses are answered with its reason", async () => {
    const heard = await post({ ...json, ...bearer }, { _tag: "Stop" });
    expect([heard.status, JSON.parse(heard.text)]).toEqual([400, { error: "the run is stopping" }]);
  });

  it("are refused without the token, from another page, or as a form would send them", async () => {
    controls.length = 0;
    const wrong = [
      [json, 401],
      [{ ...json, authorization: `Bearer ${token.slice(1)}` }, 401],
      [{ ...json, authorization: `Basic ${token}` }, 401],
      [{ ...json, ...bearer, origin: "http://evil.example" }, 403],
      [{ ...json, ...bearer, origin: "null" }, 403],
      [{ ...json, ...bearer, host: "evil.example" }, 403],
      [{ ...json, ...bearer, "sec-fetch-site": "cross-site" }, 403],
      [{ ...bearer, "content-type": "text/plain" }, 415],
      [{ ...bearer, "content-type": "application/x-www-form-urlencoded" }, 415],
    ] as const;
    for (const [headers, status] of wrong) expect((await post(headers)).status).toBe(status);
    expect((await post({ ...json, ...bearer }, { _tag: "Format", disk: "all" })).status).toBe(400);
    expect((await post({ ...json, ...bearer }, "x".repeat(5_000))).status).toBe(413);
    expect((await post({ ...json, ...bearer }, pause, path(`/control?token=${token}`))).status).toBe(204);
    expect((await post(json, pause, path(`/control?token=${token}`))).status).toBe(401);
    expect(controls).toEqual([pause]);
  });
});

describe("reading", () => {
  it("is refused to other origins and under other names", async () => {
    for (const headers of [
      { host: "evil.example" },
      { host: `evil.example:${server.port}` },
      { origin: "http://evil.example" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ]) {
      expect((await ask(server.port, "/api/runs", { headers })).status).toBe(403);
    }
    const { headers } = await ask(server.port, "/api/runs");
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("of the page itself is allowed from a link on another page, and not inside of one", async () => {
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    const page = await ask(server.port, "/", { headers: { ...link, "sec-fetch-dest": "document" } });
    expect(page.status).toBe(200);
    expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect((await ask(server.port, "/", { headers: { ...link, "sec-fetch-dest": "iframe" } })).status).toBe(403);
    expect((await ask(server.port, "/api/runs", { headers: { ...link, "sec-fetch-dest": "document" } })).status).toBe(
      403,
    );
  });

  it("beyond loopback needs the token, but for the page, which says nothing of a run", async () => {
    for (const target of ["/api/runs", "/api/catalogue", path("/line"), path("/live"), path("/config")]) {
      expect((await ask(wide.port, target)).status).toBe(401);
    }
    expect((await ask(wide.port, "/api/runs", { headers: bearer })).status).toBe(200);
    expect((await ask(wide.port, "/")).status).toBe(200);
  });

  it("takes only GET, HEAD and POST", async () => {
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]) {
      expect((await ask(server.port, "/api/runs", { method })).status).toBe(405);
    }
    expect((await ask(server.port, "/api/runs", { method: "POST", headers: { ...json, ...bearer } })).status).toBe(405);
  });

  it("has headers on every answer that let a browser make nothing else of it", async () => {
    for (const target of ["/", "/api/runs", "/nothing", path("/metrics.csv"), "/vendor/preact.js"]) {
      const { headers } = await ask(server.port, target);
      expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "x-frame-options": "DENY" });
    }
  });
});

const ways = [
  "/../secret",
  "/..%2fsecret",
  "/%2e%2e/%2e%2e/secret",
  "/page/../../../package.json",
  "/page/..%2f..%2f..%2fpackage.json",
  "/page/%2e%2e%2ftsconfig.json",
  "/page/main.ts%00.css",
  "/vendor/../../../etc/passwd",
  "//etc/passwd",
  "/etc/passwd",
  "/api/runs/..%2f..%2fsecret",
  "/api/runs/made%2F20261122-000000%2F..%2F..%2Fsecret",
  `${path("/..%2fsecret")}`,
  `${path("/groups/train/..%2f..%2fsecret/1")}`,
  `${path("/config%00")}`,
  "/api/runs/%",
  "/api/runs/%c0%ae%c0%ae",
  "/api/runs/__proto__",
  path("/constructor"),
  path("/toString"),
];

describe("files", () => {
  it.each(ways)("outside of the runs are not had by %s", async (way) => {
    const { status, text } = await ask(server.port, way);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/not-of-a-run|root:|"dependencies"/);
  });

  it("that a link in a run's folder leads to are not read", async () => {
    const root = mkdtempSync(join(tmpdir(), "millrace-test-"));
    const [folder, outside] = [join(root, "made", "linked"), join(root, "outside")];
    writeRun(folder, { steps: 2, episodesEvery: 1 });
    mkdirSync(outside);
    for (const name of ["config.yaml", "metrics.jsonl", "events.jsonl", "trajectories.jsonl"]) {
      writeFileSync(join(outside, name), readFileSync(join(folder, name)));
      rmSync(join(folder, name));
      symlinkSync(join(outside, name), join(folder, name));
    }
    const linked = await served([folder]);
    const at = `/api/runs/${encodeURIComponent("made/linked")}`;
    expect((await ask(linked.port, `${at}/config`)).status).toBe(404);
    expect((await ask(linked.port, `${at}/names`)).text).toBe("[]");
    expect((await ask(linked.port, `${at}/line`)).status).toBe(404);
    expect((await ask(linked.port, `${at}/groups/train/1/0`)).status).toBe(404);
    await linked.close();
    rmSync(root, { recursive: true });
  });
});

/** Nothing in an answer but what was asked for. */
const expectHarmless = ({ headers, status, text }: Heard): void => {
  expect(status).not.toBe(500);
  expect(text).not.toContain(secret);
  expect(text + JSON.stringify(headers)).not.toContain(token);
};

const words = fc.constantFrom(
  "api",
  "runs",
  "made%2F20261122-000000",
  "metrics",
  "metrics.csv",
  "line",
  "windows",
  "episodes",
  "groups",
  "train",
  "val",
  "timeline",
  "names",
  "config",
  "control",
  "page",
  "vendor",
  "..",
  ".",
  "%2e%2e",
  "%2f",
  "%00",
  "",
  "1",
  "-1",
  "9".repeat(20),
  "__proto__",
);
const segment = fc.oneof(
  { weight: 4, arbitrary: words },
  fc.string({ maxLength: 12 }).map(encodeURIComponent),
  fc.webFragments(),
);
const pair = fc.tuple(
  fc.constantFrom("name", "from", "to", "points", "limit", "offset", "split", "tag", "success", "verdict", "at", "x"),
  fc.oneof(
    fc.constantFrom("", "0", "1", "1e9", "-1", "NaN", "made%2Fm1", "train", "true", "kept", "9".repeat(30)),
    fc.webQueryParameters(),
  ),
);
const target = fc
  .tuple(fc.boolean(), fc.array(segment, { maxLength: 6 }), fc.array(pair, { maxLength: 4 }))
  .map(([ofRun, segments, query]) => {
    const start = ofRun ? path() : "";
    return `${start}/${segments.join("/")}?${query.map((each) => each.join("=")).join("&")}`;
  })
  .filter((text) => /^[\x21-\x7e]*$/.test(text) && !text.includes("/live"));
const headerValue = fc.oneof(
  fc.constantFrom(
    "",
    "null",
    "gzip",
    "127.0.0.1",
    "localhost",
    "evil.example",
    "application/json",
    "cross-site",
    "navigate",
  ),
  fc.string({ maxLength: 30 }).filter((text) => /^[\x21-\x7e]*$/.test(text)),
);
const headers = fc.dictionary(
  fc.constantFrom(
    "host",
    "origin",
    "accept-encoding",
    "authorization",
    "content-type",
    "sec-fetch-site",
    "sec-fetch-mode",
    "if-none-match",
    "range",
  ),
  headerValue,
  { maxKeys: 4 },
);

describe("whatever is asked", () => {
  it("is answered, never with an error of ours, a file from outside or the token", async () => {
    const said: fc.Arbitrary<Said> = fc.record({
      method: fc.constantFrom("GET", "GET", "GET", "POST", "PUT"),
      headers,
    });
    await assertProperty(
      fc.asyncProperty(target, said, async (where, how) => {
        expectHarmless(await ask(server.port, where, how));
      }),
      { numRuns: 400 },
    );
    expect((await ask(server.port, "/api/runs")).status).toBe(200);
  });

  it("in the body of a control is answered, and nothing that is no control reaches the run", async () => {
    controls.length = 0;
    const body = fc.oneof(
      fc.json(),
      fc.string(),
      fc.record({ _tag: fc.string(), stage: fc.anything() }).map((each) => JSON.stringify(each)),
    );
    await assertProperty(
      fc.asyncProperty(body, async (text) => {
        const how = { method: "POST", headers: { ...json, ...bearer }, body: text };
        const heard = await ask(server.port, path("/control"), how);
        expectHarmless(heard);
        expect(heard.status).toBe(400);
      }),
      { numRuns: 100 },
    );
    expect(controls).toEqual([]);
  });

  it("as bytes that are no request leaves the server as it was", async () => {
    await assertProperty(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const heard = new Promise<string>((resolve) => {
          let text = "";
          const socket = createConnection(server.port, "127.0.0.1", () => socket.end(bytes));
          socket.on("data", (data) => {
            text += String(data);
          });
          socket.on("error", () => undefined);
          socket.on("close", () => resolve(text));
        });
        expect(await heard).not.toMatch(/ 500 |4711/);
      }),
      { numRuns: 50 },
    );
    expect((await ask(server.port, "/api/runs")).status).toBe(200);
  });
});
