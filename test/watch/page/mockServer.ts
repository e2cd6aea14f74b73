/**
 * Serves the page with runs made of formulas, for its development and its browser tests: nothing is trained, and what the page asks and
 * controls is kept. `node test/watch/page/mockServer.ts [PORT]` serves it to look at.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import type { Control } from "../../../src/domain/Control.ts";
import { catalogue, nameOf } from "../../../src/domain/metrics/Catalogue.ts";
import type { RunCard } from "../../../src/watch/Api.ts";
import { groupOf } from "./mockEpisodes.ts";
import { curvesOf, episodesOf, hostile, lineAt, type MockRun, namesOf, timelineOf, windowOf } from "./mockRun.ts";

export const TOKEN = "secret-token";
const root = new URL("../../../", import.meta.url);
const STARTED = 1_763_790_000_000;

const run = (name: string, stamp: string, change: Partial<RunCard>, more: Partial<MockRun> = {}): MockRun => {
  const stepMs = more.stepMs ?? 2000;
  const step = change.step ?? 600;
  const card: RunCard = {
    id: `${name}/${stamp}`,
    name,
    stamp,
    state: "completed",
    message: null,
    mode: "async",
    maxStaleness: 3,
    seed: 0,
    step,
    steps: 600,
    started: STARTED,
    last: STARTED + step * stepMs + 700,
    controllable: false,
    ...change,
  };
  return { groups: 16, noise: 0, stepMs, ...more, card };
};

export const runs = (): readonly MockRun[] => [
  run("quickstart", "20261122-015315", {
    state: "running",
    step: 300,
    controllable: true,
    started: STARTED + 9_000_000,
    last: STARTED + 9_000_000 + 300 * 2000 + 700,
  }),
  run(
    "quickstart",
    "20261121-231202",
    { message: "600 steps.", seed: 1, mode: "sync", maxStaleness: 0 },
    { noise: -0.12 },
  ),
  run(
    "_2_sokoban",
    "20261121-120000",
    { state: "dead", step: 212, seed: 2, started: STARTED - 9e6, last: STARTED - 9e6 + 212 * 3000 + 100 },
    { noise: 0.08, stepMs: 3000, groups: 128 },
  ),
  run("hostile", "20261120-101010", {
    state: "failed",
    message: hostile,
    name: hostile,
    step: 40,
    seed: 3,
    started: STARTED - 9e7,
    last: STARTED - 9e7 + 40 * 2000,
  }),
];

const vendor: Readonly<Record<string, string>> = {
  "preact.js": "preact/dist/preact.module.js",
  "preact-hooks.js": "preact/hooks/dist/hooks.module.js",
  "htm.js": "htm/dist/htm.module.js",
  "htm-preact.js": "htm/preact/index.module.js",
  "uplot.js": "uplot/dist/uPlot.esm.js",
  "uplot.css": "uplot/dist/uPlot.min.css",
};

const textOf = (path: string): readonly [string, string] | null => {
  const read = (file: string): string => readFileSync(new URL(file, root), "utf8");
  if (path === "/") return ["text/html", read("src/watch/page/index.html")];
  const library = path.startsWith("/vendor/") ? vendor[path.slice("/vendor/".length)] : undefined;
  if (library !== undefined)
    return [library.endsWith(".css") ? "text/css" : "text/javascript", read(`node_modules/${library}`)];
  if (!/^\/page\/[\w/]+\.(ts|css)$/.test(path)) return null;
  const text = read(`src/watch${path}`);
  return path.endsWith(".css") ? ["text/css", text] : ["text/javascript", stripTypeScriptTypes(text)];
};

/** As strict as the real server's: nothing from elsewhere, and of scripts in the document the import map alone. */
const importMap =
  /<script type="importmap">([\s\S]*?)<\/script>/.exec(
    readFileSync(new URL("src/watch/page/index.html", root), "utf8"),
  )?.[1] ?? "";
const policy = `default-src 'self'; script-src 'self' 'sha256-${createHash("sha256").update(importMap).digest("base64")}'; img-src 'self' data:; frame-ancestors 'none'`;

export interface MockServer {
  readonly url: string;
  /** What the page asked the run for. */
  readonly controls: readonly Control[];
  /** Ends the running run as a killed one. */
  readonly die: () => void;
  /** Breaks all streams, as a server that goes away. */
  readonly hangUp: () => void;
  readonly close: () => Promise<void>;
}

interface World {
  readonly runs: MockRun[];
  readonly controls: Control[];
  readonly slots: Map<string, number>;
  paused: boolean;
  readonly streams: Set<ServerResponse>;
}

const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};

const send = (response: ServerResponse, event: string, value: unknown): void =>
  void response.write(`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`);

const applied = (world: World, control: Control): string | null => {
  if (control._tag === "SetConcurrency" && control.concurrency > 64) return "generate takes at most 64 slots.";
  if (control._tag === "SetConcurrency") world.slots.set(control.stage, control.concurrency);
  if (control._tag === "PauseAdmission") world.paused = true;
  if (control._tag === "ResumeAdmission") world.paused = false;
  world.controls.push(control);
  return null;
};

const control = async (world: World, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  if (request.headers.authorization !== `Bearer ${TOKEN}`)
    return json(response, { error: "The token is not the server's." }, 401);
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const refused = applied(world, JSON.parse(Buffer.concat(chunks).toString()) as Control);
  if (refused !== null) return json(response, { error: refused }, 400);
  response.writeHead(204).end();
  const [running] = world.runs;
  for (const stream of world.streams) send(stream, "line", lineAt(running!, running!.card.last, world));
};

const live = (world: World, mock: MockRun, response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (mock.card.state !== "running") {
    send(response, "ended", mock.card.state);
    return;
  }
  world.streams.add(response);
  response.on("close", () => world.streams.delete(response));
  send(response, "line", lineAt(mock, mock.card.last, world));
};

type Answer = (mock: MockRun, search: URLSearchParams, response: ServerResponse) => void;

const numberOf = (search: URLSearchParams, key: string, otherwise: number): number => {
  const value = search.get(key);
  return value === null ? otherwise : Number(value);
};

const answers = (world: World): Readonly<Record<string, Answer>> => ({
  "": ({ card }, _, response) => json(response, card),
  names: (_, __, response) => json(response, namesOf()),
  metrics: (mock, search, response) =>
    json(
      response,
      curvesOf(
        mock,
        search.getAll("name"),
        Math.max(1, numberOf(search, "from", 1)),
        Math.min(mock.card.step, numberOf(search, "to", Number.POSITIVE_INFINITY)),
        numberOf(search, "points", 2000),
      ),
    ),
  "metrics.csv": (_, search, response) => {
    response.writeHead(200, { "content-type": "text/csv" });
    response.end(`step,${search.getAll("name").join(",")}\n`);
  },
  timeline: (mock, search, response) => json(response, timelineOf(mock, numberOf(search, "points", 2000))),
  line: (mock, search, response) =>
    json(response, lineAt(mock, Math.min(mock.card.last, numberOf(search, "at", mock.card.last)), world)),
  windows: (mock, search, response) => {
    const from = Math.max(1, numberOf(search, "from", 1));
    const to = Math.min(mock.card.step, numberOf(search, "to", mock.card.step));
    const count = Math.min(numberOf(search, "limit", 200), Math.max(0, to - from + 1));
    const steps = Array.from(
      { length: count },
      (_, i) => from + Math.round((i * (to - from)) / Math.max(1, count - 1)),
    );
    json(
      response,
      steps.map((step) => windowOf(mock, step)),
    );
  },
  episodes: (mock, search, response) => {
    const all = episodesOf(
      mock,
      numberOf(search, "from", 1),
      Math.min(mock.card.step, numberOf(search, "to", mock.card.step)),
    );
    const offset = numberOf(search, "offset", 0);
    json(response, { total: all.length, episodes: all.slice(offset, offset + numberOf(search, "limit", 100)) });
  },
  scenes: (_, __, response) => json(response, { SimpleSokoban: { env_type: "sokoban", env_config: {} } }),
  live: (mock, _, response) => live(world, mock, response),
});

const cards = catalogue.flatMap(({ entries, title }) =>
  entries.map((entry) => ({
    name: nameOf(entry),
    section: title,
    unit: entry.unit,
    kind: entry.kind,
    meaning: entry.meaning,
  })),
);

const respond = (world: World, request: IncomingMessage, response: ServerResponse): void => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://mock");
  if (pathname === "/api/runs")
    return json(
      response,
      world.runs.map(({ card }) => card),
    );
  if (pathname === "/api/catalogue") return json(response, cards);
  const [, id = "", rest = ""] = /^\/api\/runs\/([^/]+)\/?(.*)$/.exec(pathname) ?? [];
  if (id !== "") {
    const mock = world.runs.find(({ card }) => card.id === decodeURIComponent(id));
    if (mock === undefined) return json(response, { error: "There is no such run." }, 404);
    const [, step, group] = /^groups\/train\/(\d+)\/(\d+)$/.exec(rest) ?? [];
    if (step !== undefined && group !== undefined) return json(response, groupOf(mock, Number(step), Number(group)));
    if (rest === "control") return void control(world, request, response);
    const answer = answers(world)[rest];
    return answer === undefined
      ? json(response, { error: "There is no such page." }, 404)
      : answer(mock, searchParams, response);
  }
  const text = textOf(pathname);
  if (text === null) return json(response, { error: "There is no such page." }, 404);
  response.writeHead(200, {
    "content-type": `${text[0]}; charset=utf-8`,
    "cache-control": "no-store",
    "content-security-policy": policy,
  });
  response.end(text[1]);
};

/** Serves on an ephemeral port of loopback. With `tickMs` the running run goes on, by that time at a time. */
export const serve = async (port = 0, tickMs: number | null = null): Promise<MockServer> => {
  const world: World = { runs: [...runs()], controls: [], slots: new Map(), paused: false, streams: new Set() };
  const server = createServer((request, response) => respond(world, request, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const tick = (): void => {
    const mock = world.runs[0]!;
    if (mock.card.state !== "running") return;
    const last = mock.card.last + (tickMs ?? 0);
    const step = Math.min(mock.card.steps, Math.floor((last - mock.card.started) / mock.stepMs));
    const next = { ...mock, card: { ...mock.card, last, step } };
    world.runs[0] = next;
    for (const stream of world.streams) {
      send(stream, "line", lineAt(next, last, world));
      if (step > mock.card.step) send(stream, "step", { step });
    }
  };
  const timer = tickMs === null ? null : setInterval(tick, tickMs);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}/`,
    controls: world.controls,
    die: () => {
      const mock = world.runs[0]!;
      world.runs[0] = { ...mock, card: { ...mock.card, state: "dead", controllable: false } };
      for (const stream of world.streams) send(stream, "ended", "dead");
    },
    hangUp: () => {
      for (const stream of world.streams) stream.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        if (timer !== null) clearInterval(timer);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

if (import.meta.main) {
  const { url } = await serve(Number(process.argv[2] ?? 0), 500);
  console.log(`${url}#token=${TOKEN}`);
}
