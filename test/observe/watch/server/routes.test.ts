/** Every answer of the page's server, over HTTP and of a made run. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  Curves,
  EpisodePage,
  LineView,
  RunCard,
  RunSummary,
  Timeline,
  WindowView,
} from "../../../../src/observe/watch/Api.ts";
import { START } from "../syntheticRun.ts";
import { ask, id, json, type Place, path, placed, type Served, served } from "./serving.ts";

let place: Place;
let server: Served;
const read = async <A>(rest: string): Promise<A> => (await json(server.port, path(rest))) as A;

beforeAll(async () => {
  place = placed();
  server = await served([place.folder]);
});
afterAll(async () => {
  await server.close();
  place.remove();
});

describe("the page's server", () => {
  it("says which runs it shows", async () => {
    const [card] = (await json(server.port, "/api/runs")) as readonly RunCard[];
    expect(card).toEqual({
      id,
      name: "made",
      stamp: "20261122-000000",
      state: "completed",
      message: null,
      mode: "async",
      maxStaleness: 2,
      seed: 7,
      step: 40,
      steps: 40,
      started: START,
      last: START + 40_000,
      controllable: false,
    });
    expect(await read("")).toEqual(card);
  });

  it("says what came of a run, and in what all runs differ", async () => {
    const summary = await read<RunSummary>("/summary");
    expect(summary).toMatchObject({ kind: "training", steps: { done: 40, planned: 40 }, checkpoint: { newest: null } });
    expect(await json(server.port, "/api/comparison")).toEqual({
      summaries: { [id]: summary },
      settings: { [id]: {} },
    });
  });

  it("gives the catalogue, the configuration and the names of metrics", async () => {
    const catalogue = (await json(server.port, "/api/catalogue")) as readonly { name: string }[];
    expect(catalogue.map(({ name }) => name)).toContain("stage/{stage}/busy");
    const config = await ask(server.port, path("/config"));
    expect(config.headers["content-type"]).toBe("text/yaml; charset=utf-8");
    expect(config.text).toContain("mode: async");
    expect(await read("/names")).toEqual(Array.from({ length: 8 }, (_, i) => `made/m${i}`));
  });

  it("gives curves by buckets with their least, mean and greatest value", async () => {
    const curves = await read<Curves>("/metrics?name=made%2Fm1&name=none&from=11&to=30&points=4");
    expect(curves.steps).toEqual([15, 20, 25, 30]);
    expect(curves.times[0]).toBe(START + 15_000);
    expect(curves.series).toEqual([
      { name: "made/m1", mean: [26, 36, 46, 56], min: [22, 32, 42, 52], max: [30, 40, 50, 60] },
      { name: "none", mean: [null, null, null, null], min: [null, null, null, null], max: [null, null, null, null] },
    ]);
  });

  it("gives every step as a table", async () => {
    const { headers, text } = await ask(server.port, path("/metrics.csv?name=made%2Fm0"));
    expect(headers["content-disposition"]).toBe('attachment; filename="made-20261122-000000.csv"');
    const lines = text.trimEnd().split("\n");
    expect(lines.slice(0, 2)).toEqual(["step,time,made/m0", `1,${START + 1_000},1`]);
    expect(lines).toHaveLength(41);
  });

  it("gives the scale and the marks of the slider", async () => {
    const timeline = await read<Timeline>("/timeline?points=10");
    expect(timeline.from).toBe(START);
    expect(timeline.to).toBe(START + 40_000);
    expect(timeline.steps).toHaveLength(10);
    expect(timeline.marks.map(({ kind, step }) => [kind, step])).toEqual([
      ["validation", 10],
      ["validation", 20],
      ["validation", 30],
      ["validation", 40],
      ["end", 40],
    ]);
  });

  it("shows the line as it was at a moment", async () => {
    const view = await read<LineView>(`/line?at=${START + 20_505}`);
    expect(view).toMatchObject({ at: START + 20_500, step: 20, version: 20, adopted: 20, paused: false });
    expect(view.groups.map(({ group, place }) => [group, place])).toEqual(
      [80, 81, 82, 83].map((group) => [group, "score"]),
    );
    expect(view.stages.map(({ name, shares }) => [name, shares.busy])).toEqual([
      ["rollout", 0.75],
      ["learn", 0.5],
    ]);
    expect(view.tokensPerSecond).toEqual({ generated: 1_000, trained: 500 });
    expect(view.adoptions.at(-1)).toEqual({ at: START + 19_950, version: 20 });
    // Each of twenty windows has three groups of two episodes of six tokens. Only the first window's tokens are of the version it
    // trained.
    expect(view.staleness).toEqual([36, 19 * 36]);
  });

  it("shows the newest moment, and the first one for times before it", async () => {
    expect(await read<LineView>("/line")).toMatchObject({ step: 40, at: START + 40_000 });
    expect(await read<LineView>("/line?at=1")).toMatchObject({ step: 0, at: START });
  });

  it("gives windows with the cut of the filter", async () => {
    const windows = await read<readonly WindowView[]>("/windows?from=1&to=40&limit=4");
    expect(windows.map(({ step }) => step)).toEqual([10, 20, 30, 40]);
    expect(windows[0]).toMatchObject({ window: 9, cut: 1 });
    expect(windows[0]?.groups.map(({ verdict }) => verdict)).toEqual(["rule", "kept", "kept", "kept"]);
  });

  it("lists episodes newest first, and gives a group's records", async () => {
    const page = await read<EpisodePage>("/episodes?success=true&limit=2");
    expect(page.total).toBe(10);
    expect(page.episodes.map(({ group, member, step }) => [step, group, member])).toEqual([
      [40, 156, 0],
      [36, 140, 0],
    ]);
    const group = await read<readonly { member: number }[]>("/groups/train/40/156");
    expect(group.map(({ member }) => member)).toEqual([0, 1]);
  });

  it("answers what it cannot give with what it could", async () => {
    const cases = [
      ["/api/runs/none", 404, `no run "none" is shown here; nearest: ${id}`],
      [path("/metrics?points=0"), 400, 'points: "0": a whole number from 1 to 10000'],
      [path("/episodes?split=test"), 400, 'split: "test": one of train, val'],
      [path("/line?at=yesterday"), 400, 'at: "yesterday": milliseconds since the epoch'],
      [path("/groups/train/1/2"), 404, "no episode of group 2 of step 1 is recorded"],
      [path("/nothing"), 404, "there is no such answer"],
      ["/nothing", 404, "there is no such page"],
    ] as const;
    for (const [target, status, error] of cases) {
      const heard = await ask(server.port, target);
      expect([heard.status, JSON.parse(heard.text)]).toEqual([status, { error }]);
    }
  });

  it("compresses what is long for those who take it", async () => {
    const plain = await ask(server.port, "/api/catalogue");
    const zipped = await ask(server.port, "/api/catalogue", {
      headers: { "accept-encoding": "br, gzip" },
    });
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(zipped.headers["content-encoding"]).toBe("gzip");
    const refused = await ask(server.port, "/api/catalogue", {
      headers: { "accept-encoding": "gzip;q=0" },
    });
    expect(refused.headers["content-encoding"]).toBeUndefined();
  });

  it("serves the page without types, once for each version of it", async () => {
    const index = await ask(server.port, "/");
    expect(index.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(index.headers["content-security-policy"]).toMatch(/^default-src 'self'; script-src 'self' 'sha256-/);
    const source = await ask(server.port, "/page/main.ts");
    expect(source.headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(source.text).not.toMatch(/import type/);
    for (const name of ["preact.js", "preact-hooks.js", "htm.js", "htm-preact.js", "uplot.js", "uplot.css"]) {
      expect((await ask(server.port, `/vendor/${name}`)).status).toBe(200);
    }
    const again = await ask(server.port, "/page/main.ts", {
      headers: { "if-none-match": String(source.headers.etag) },
    });
    expect([again.status, again.text]).toEqual([304, ""]);
  });
});
