/** The answers to GET requests of the page, as Api.ts lists them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { byNearest } from "../../../config/nearest.ts";
import { catalogue, nameOf } from "../../../domain/metrics/Catalogue.ts";
import type { Comparison, MetricCard, RunSummary } from "../Api.ts";
import { scenesOf } from "../scenes.ts";
import type { RunStore } from "../store/RunStore.ts";
import { differing, type Settings, settingsOf } from "../store/settings.ts";
import { badRequest, notFound } from "./Problem.ts";
import { oneOf, stepsIn, timeIn, whole, wholeIn } from "./query.ts";
import { sendJson, sendPieces, sendText } from "./Reply.ts";
import type { Runs } from "./Runs.ts";

interface Ask {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  readonly store: RunStore;
  /** Segments behind the name of the answer. */
  readonly rest: readonly string[];
}

const MOST_NAMES = 64;
const MOST_POINTS = 10_000;
const MOST_WINDOWS = 1_000;
const MOST_EPISODES = 1_000;
const anything = { min: 0, max: Number.MAX_SAFE_INTEGER };

const metricCards: readonly MetricCard[] = catalogue.flatMap(({ entries, title }) =>
  entries.map((entry) => ({
    name: nameOf(entry),
    section: title,
    unit: entry.unit,
    kind: entry.kind,
    meaning: entry.meaning,
  })),
);

const namesIn = (query: URLSearchParams): readonly string[] => {
  const names = query.getAll("name");
  if (names.length > MOST_NAMES) throw badRequest(`name: ${names.length} names; ${MOST_NAMES} at most`);
  return names;
};

const json = async ({ request, response }: Ask, value: unknown): Promise<void> => sendJson(request, response, value);

const answers = {
  config: async ({ request, response, store }) => {
    const text = await store.config();
    if (text === null) throw notFound(`the run ${store.id} has no config.yaml`);
    await sendText(request, response, 200, "text/yaml; charset=utf-8", text);
  },
  summary: async (ask) => json(ask, await ask.store.summary()),
  scenes: async (ask) => json(ask, scenesOf((await ask.store.config()) ?? "")),
  names: async (ask) => json(ask, await ask.store.names()),
  metrics: async (ask) => {
    const { from, to } = stepsIn(ask.query);
    const points = whole(ask.query, "points", { min: 1, max: MOST_POINTS }, 2_000);
    await json(ask, await ask.store.curves(namesIn(ask.query), from, to, points));
  },
  "metrics.csv": async ({ query, request, response, store }) => {
    const names = namesIn(query);
    const all = names.length > 0 ? names : await store.names();
    const pieces = await store.csv(all);
    const filename = `${store.id.replace(/[^\w.-]+/g, "-")}.csv`;
    await sendPieces(request, response, "text/csv; charset=utf-8", pieces, filename);
  },
  timeline: async (ask) =>
    json(ask, await ask.store.timeline(whole(ask.query, "points", { min: 1, max: MOST_POINTS }, 500))),
  line: async (ask) => {
    const view = await ask.store.line(timeIn(ask.query, "at"));
    if (view === null) throw notFound(`the run ${ask.store.id} has no events`);
    await json(ask, view);
  },
  windows: async (ask) => {
    const { from, to } = stepsIn(ask.query);
    await json(ask, await ask.store.windows(from, to, whole(ask.query, "limit", { min: 1, max: MOST_WINDOWS }, 200)));
  },
  episodes: async (ask) => {
    const { query } = ask;
    const success = oneOf(query, "success", ["true", "false"]);
    const page = await ask.store.episodes({
      ...stepsIn(query),
      split: oneOf(query, "split", ["train", "val"]),
      tag: query.get("tag") || null,
      success: success === null ? null : success === "true",
      verdict: oneOf(query, "verdict", ["kept", "zero", "rule", "surplus", "failed"]),
      offset: whole(query, "offset", anything, 0),
      limit: whole(query, "limit", { min: 1, max: MOST_EPISODES }, 100),
    });
    await json(ask, page);
  },
  groups: async ({ request, response, rest, store }) => {
    const [split = "", step = "", group = ""] = rest;
    if (split !== "train" && split !== "val")
      throw notFound(`no split ${JSON.stringify(split.slice(0, 80))}; train or val`);
    const texts = await store.group(split, wholeIn(step, "step"), wholeIn(group, "group"));
    if (texts.length === 0) throw notFound(`no episode of group ${group} of step ${step} is recorded`);
    await sendText(request, response, 200, "application/json; charset=utf-8", `[${texts.join(",")}]`);
  },
} as const satisfies Readonly<Record<string, (ask: Ask) => Promise<void>>>;

const isAnswer = (name: string): name is keyof typeof answers => Object.hasOwn(answers, name);

/** Segments behind the name that an answer takes. */
const restOf = (name: keyof typeof answers): number => (name === "groups" ? 3 : 0);

export const unknownRun = (id: string, ids: readonly string[]) => {
  const [nearest] = byNearest(id.slice(0, 200), ids);
  return notFound(
    `no run ${JSON.stringify(id.slice(0, 80))} is shown here${nearest === undefined ? "" : `; nearest: ${nearest}`}`,
  );
};

/** One run after the other: the machine is the runs'. */
const comparison = async (runs: Runs): Promise<Comparison> => {
  const summaries: Record<string, RunSummary> = {};
  const settings = new Map<string, Settings>();
  for (const id of runs.ids()) {
    const store = await runs.store(id);
    if (store === undefined) continue;
    summaries[id] = await store.summary();
    settings.set(id, settingsOf((await store.config()) ?? ""));
  }
  return { summaries, settings: differing(settings) };
};

/** Answers a GET below /api; `segments` are those behind it. */
export const answer = async (
  runs: Runs,
  segments: readonly string[],
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const [what, id, name, ...rest] = segments;
  if (what === "catalogue" && id === undefined) return sendJson(request, response, metricCards);
  if (what === "comparison" && id === undefined) return sendJson(request, response, await comparison(runs));
  if (what !== "runs") throw notFound("there is no such answer");
  if (id === undefined) {
    const cards = runs.ids().map(async (each) => (await runs.store(each))?.card());
    return sendJson(request, response, await Promise.all(cards));
  }
  const store = await runs.store(id);
  if (store === undefined) throw unknownRun(id, runs.ids());
  if (name === undefined) return sendJson(request, response, await store.card());
  if (!isAnswer(name) || rest.length !== restOf(name)) throw notFound("there is no such answer");
  await answers[name]({ request, response, query, store, rest });
};
