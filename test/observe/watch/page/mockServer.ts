/**
 * Serves the page with runs made of formulas, for its development and its browser tests: nothing is trained, and what the page asks of a run
 * is kept. `node test/observe/watch/page/mockServer.ts [PORT]` serves it to look at.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Control } from "../../../../src/domain/Control.ts";
import { catalogue, nameOf } from "../../../../src/domain/metrics/Catalogue.ts";
import type { RunCard } from "../../../../src/observe/watch/Api.ts";
import { type Assets, assetReply, loadAssets } from "../../../../src/observe/watch/server/Assets.ts";
import { groupOf } from "./mockEpisodes.ts";
import {
  comparisonOf,
  curvesOf,
  episodesOf,
  hostile,
  lineAt,
  type MockRun,
  namesOf,
  summaryOf,
  timelineOf,
  windowOf,
} from "./mockRun.ts";

export const TOKEN = "secret-token";
const STARTED = 1_763_790_000_000;

const mock = (card: Pick<RunCard, "name" | "stamp"> & Partial<RunCard>, more: Partial<MockRun> = {}): MockRun => {
  const { stepMs = 2000 } = more;
  const { started = STARTED, step = 600 } = card;
  const last = started + step * stepMs + 700;
  const id = `${card.name}/${card.stamp}`;
  const rest = { state: "completed", message: null, mode: "async", maxStaleness: 3, seed: 0, steps: 600 } as const;
  return {
    groups: 16,
    noise: 0,
    ...more,
    stepMs,
    card: { ...rest, controllable: false, ...card, id, started, step, last },
  };
};

/** One that goes on, one that is done, a large one that was killed, and one of hostile words. */
const runs = (): MockRun[] => [
  mock({
    name: "quickstart",
    stamp: "20261122-015315",
    state: "running",
    step: 300,
    controllable: true,
    started: STARTED + 9e6,
  }),
  mock(
    { name: "quickstart", stamp: "20261121-231202", message: "600 steps.", seed: 1, mode: "sync", maxStaleness: 0 },
    { noise: -0.12 },
  ),
  mock(
    { name: "_2_sokoban", stamp: "20261121-120000", state: "dead", step: 212, seed: 2, started: STARTED - 9e6 },
    { noise: 0.08, stepMs: 3000, groups: 128 },
  ),
  mock({
    name: hostile,
    stamp: "20261120-101010",
    state: "failed",
    message: hostile,
    step: 40,
    seed: 3,
    started: STARTED - 9e7,
  }),
];

export interface MockServer {
  readonly url: string;
  /** The requests that the page sent to the run. */
  readonly controls: readonly Control[];
  /** The run that goes on gets further by that time. */
  readonly tick: (ms: number) => void;
  /** It ends in that state. */
  readonly end: (state: RunCard["state"]) => void;
  readonly close: () => Promise<void>;
}

interface World {
  readonly runs: MockRun[];
  readonly controls: Control[];
  readonly slots: Map<string, number>;
  assets: Assets;
  paused: boolean;
  readonly streams: Set<ServerResponse>;
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const json = (value: unknown, status = 200): Reply => ({
  status,
  type: "application/json",
  text: JSON.stringify(value),
});
const missing = json({ error: "There is no such thing here." }, 404);

const send = (response: ServerResponse, event: string, value: unknown): void =>
  void response.write(`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`);

/** Why a control is refused; null once it is carried out. */
const applied = (world: World, control: Control): string | null => {
  if (control._tag === "SetConcurrency" && control.concurrency > 64) return `${control.stage} takes at most 64 slots.`;
  if (control._tag === "SetConcurrency") world.slots.set(control.stage, control.concurrency);
  if (control._tag === "PauseAdmission") world.paused = true;
  if (control._tag === "ResumeAdmission") world.paused = false;
  world.controls.push(control);
  return null;
};

const control = async (world: World, request: IncomingMessage): Promise<Reply> => {
  if (request.headers.authorization !== `Bearer ${TOKEN}`)
    return json({ error: "The token is not the server's." }, 401);
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  const refused = applied(world, JSON.parse(Buffer.concat(chunks).toString()) as Control);
  if (refused !== null) return json({ error: refused }, 400);
  const [running] = world.runs;
  for (const stream of world.streams) send(stream, "line", lineAt(running!, running!.card.last, world));
  return { status: 204, type: "text/plain", text: "" };
};

const stream = (world: World, run: MockRun, response: ServerResponse): void => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (run.card.state !== "running") {
    send(response, "ended", run.card.state);
    return;
  }
  world.streams.add(response);
  response.on("close", () => world.streams.delete(response));
  send(response, "line", lineAt(run, run.card.last, world));
};

const numberOf = (search: URLSearchParams, key: string, otherwise: number): number => {
  const value = search.get(key);
  return value === null ? otherwise : Number(value);
};

const evenly = (from: number, to: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, i) => from + Math.round((i * (to - from)) / Math.max(1, count - 1)));

/** The answer to a question about a run. */
const answer = (world: World, run: MockRun, what: string, search: URLSearchParams): Reply => {
  const from = Math.max(1, numberOf(search, "from", 1));
  const to = Math.min(run.card.step, numberOf(search, "to", run.card.step));
  const points = numberOf(search, "points", 2000);
  const [, step, group] = /^groups\/train\/(\d+)\/(\d+)$/.exec(what) ?? [];
  if (step !== undefined) return json(groupOf(run, Number(step), Number(group)));
  switch (what) {
    case "":
      return json(run.card);
    case "summary":
      return json(summaryOf(run));
    case "names":
      return json(namesOf());
    case "scenes":
      return json({ SimpleSokoban: { env_type: "sokoban", env_config: {} } });
    case "metrics":
      return json(curvesOf(run, search.getAll("name"), from, to, points));
    case "metrics.csv":
      return { status: 200, type: "text/csv", text: `step,${search.getAll("name").join(",")}\n` };
    case "timeline":
      return json(timelineOf(run, points));
    case "line":
      return json(lineAt(run, Math.min(run.card.last, numberOf(search, "at", run.card.last)), world));
    case "windows": {
      const count = Math.min(numberOf(search, "limit", 200), Math.max(0, to - from + 1));
      return json(evenly(from, to, count).map((step) => windowOf(run, step)));
    }
    case "episodes": {
      const all = episodesOf(run, from, to);
      const offset = numberOf(search, "offset", 0);
      return json({ total: all.length, episodes: all.slice(offset, offset + numberOf(search, "limit", 100)) });
    }
    default:
      return missing;
  }
};

const cards = catalogue.flatMap(({ entries, title }) =>
  entries.map((entry) => ({ ...entry, name: nameOf(entry), section: title })),
);

/** Null where the response is under way. */
const replyTo = async (world: World, request: IncomingMessage, response: ServerResponse): Promise<Reply | null> => {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://mock");
  if (pathname === "/api/runs") return json(world.runs.map(({ card }) => card));
  if (pathname === "/api/comparison") return json(comparisonOf(world.runs));
  if (pathname === "/api/catalogue") return json(cards);
  const [, id, what = ""] = /^\/api\/runs\/([^/]+)\/?(.*)$/.exec(pathname) ?? [];
  if (id === undefined) {
    // A reload shows what was edited since.
    if (pathname === "/") world.assets = loadAssets();
    const asset = world.assets.get(pathname as `/${string}`);
    if (asset === undefined) return missing;
    const { body, headers, status } = assetReply(asset, request.headers);
    response.writeHead(status, headers).end(body);
    return null;
  }
  const run = world.runs.find(({ card }) => card.id === decodeURIComponent(id));
  if (run === undefined) return missing;
  if (what === "control") return control(world, request);
  if (what !== "live") return answer(world, run, what, searchParams);
  stream(world, run, response);
  return null;
};

const advance = (world: World, ms: number): void => {
  const run = world.runs[0]!;
  if (run.card.state !== "running") return;
  const last = run.card.last + ms;
  const step = Math.min(run.card.steps, Math.floor((last - run.card.started) / run.stepMs));
  const next = { ...run, card: { ...run.card, last, step } };
  world.runs[0] = next;
  for (const stream of world.streams) {
    send(stream, "line", lineAt(next, last, world));
    if (step > run.card.step) send(stream, "step", { step });
  }
};

const end = (world: World, state: RunCard["state"]): void => {
  const run = world.runs[0]!;
  world.runs[0] = { ...run, card: { ...run.card, state, controllable: false } };
  for (const stream of world.streams) send(stream, "ended", state);
};

/** Serves on loopback, on a port of its own choice without one. */
export const serve = async (port = 0): Promise<MockServer> => {
  const world: World = {
    runs: runs(),
    controls: [],
    slots: new Map(),
    assets: loadAssets(),
    paused: false,
    streams: new Set(),
  };
  const server = createServer(async (request, response) => {
    const reply = await replyTo(world, request, response);
    if (reply === null) return;
    const headers = { "content-type": `${reply.type}; charset=utf-8`, "cache-control": "no-store" };
    response.writeHead(reply.status, headers).end(reply.text);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, controls: world.controls, tick: (ms) => advance(world, ms), end: (state) => end(world, state), close };
};

if (import.meta.main) {
  const { tick, url } = await serve(Number(process.argv[2] ?? 0));
  setInterval(() => tick(500), 500);
  console.log(`${url}#token=${TOKEN}`);
}
