/** The routes that the page reads from, as Api.ts lists them. */
import { Effect } from "effect";
import { catalogue, nameOf } from "../../../domain/metrics/Catalogue.ts";
import { badRequest, notFound, type Problem } from "../../../support/http/Problem.ts";
import type { Reply } from "../../../support/http/Reply.ts";
import type { Route, RouteRequest } from "../../../support/http/Route.ts";
import { byNearest } from "../../../support/text/nearest.ts";
import type { Comparison, MetricCard, RunSummary } from "../Api.ts";
import { scenesOf } from "../scenes.ts";
import type { RunStore } from "../store/RunStore.ts";
import { differingSettings, type Settings, settingsOf } from "../store/settings.ts";
import { oneOf, parseWholeNumber, stepsIn, timeIn, wholeNumber } from "./query.ts";
import { jsonReply, jsonTextReply, piecesReply, textReply } from "./replies.ts";
import type { ServedRuns } from "./ServedRuns.ts";

interface RunRequest extends RouteRequest {
  readonly store: RunStore;
  /** The parameters of the path after the run. */
  readonly parameters: readonly string[];
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

/** The answers of a run by their paths behind the run's. */
const runAnswers: Readonly<Record<string, (ask: RunRequest) => Promise<Reply>>> = {
  "": async (ask) => jsonReply(ask, await ask.store.card()),
  "/config": async (ask) => {
    const text = await ask.store.config();
    if (text === null) throw notFound(`the run ${ask.store.id} has no config.yaml`);
    return textReply(ask, "text/yaml; charset=utf-8", text);
  },
  "/summary": async (ask) => jsonReply(ask, await ask.store.summary()),
  "/scenes": async (ask) => jsonReply(ask, scenesOf((await ask.store.config()) ?? "")),
  "/names": async (ask) => jsonReply(ask, await ask.store.names()),
  "/metrics": async (ask) => {
    const { from, to } = stepsIn(ask.query);
    const points = wholeNumber(ask.query, "points", { min: 1, max: MOST_POINTS }, 2_000);
    return jsonReply(ask, await ask.store.curves(namesIn(ask.query), from, to, points));
  },
  "/metrics.csv": async (ask) => {
    const { query, store } = ask;
    const names = namesIn(query);
    const all = names.length > 0 ? names : await store.names();
    const pieces = await store.csv(all);
    const filename = `${store.id.replace(/[^\w.-]+/g, "-")}.csv`;
    return piecesReply(ask, "text/csv; charset=utf-8", pieces, filename);
  },
  "/timeline": async (ask) =>
    jsonReply(ask, await ask.store.timeline(wholeNumber(ask.query, "points", { min: 1, max: MOST_POINTS }, 500))),
  "/line": async (ask) => {
    const view = await ask.store.line(timeIn(ask.query, "at"));
    if (view === null) throw notFound(`the run ${ask.store.id} has no events`);
    return jsonReply(ask, view);
  },
  "/windows": async (ask) => {
    const { from, to } = stepsIn(ask.query);
    return jsonReply(
      ask,
      await ask.store.windows(from, to, wholeNumber(ask.query, "limit", { min: 1, max: MOST_WINDOWS }, 200)),
    );
  },
  "/episodes": async (ask) => {
    const { query } = ask;
    const success = oneOf(query, "success", ["true", "false"]);
    const page = await ask.store.episodes({
      ...stepsIn(query),
      split: oneOf(query, "split", ["train", "val"]),
      tag: query.get("tag") || null,
      success: success === null ? null : success === "true",
      verdict: oneOf(query, "verdict", ["kept", "zero", "rule", "surplus", "failed"]),
      offset: wholeNumber(query, "offset", anything, 0),
      limit: wholeNumber(query, "limit", { min: 1, max: MOST_EPISODES }, 100),
    });
    return jsonReply(ask, page);
  },
  "/groups/:split/:step/:group": async (ask) => {
    const [split = "", step = "", group = ""] = ask.parameters;
    if (split !== "train" && split !== "val")
      throw notFound(`no split ${JSON.stringify(split.slice(0, 80))}; train or val`);
    const texts = await ask.store.group(split, parseWholeNumber(step, "step"), parseWholeNumber(group, "group"));
    if (texts.length === 0) throw notFound(`no episode of group ${group} of step ${step} is recorded`);
    return jsonTextReply(ask, `[${texts.join(",")}]`);
  },
};

export const unknownRun = (id: string, ids: readonly string[]): Problem => {
  const [nearest] = byNearest(id.slice(0, 200), ids);
  return notFound(
    `no run ${JSON.stringify(id.slice(0, 80))} is shown here${nearest === undefined ? "" : `; nearest: ${nearest}`}`,
  );
};

/** Runs are read one after the other, because the machine belongs to the runs. */
const comparison = async (runs: ServedRuns): Promise<Comparison> => {
  const summaries: Record<string, RunSummary> = {};
  const settings = new Map<string, Settings>();
  for (const id of runs.ids()) {
    const store = await runs.store(id);
    if (store === undefined) continue;
    summaries[id] = await store.summary();
    settings.set(id, settingsOf((await store.config()) ?? ""));
  }
  return { summaries, settings: differingSettings(settings) };
};

const cards = (runs: ServedRuns) => Promise.all(runs.ids().map(async (id) => (await runs.store(id))?.card()));

const get = (
  path: `/${string}`,
  answer: (request: RouteRequest, ...parameters: readonly string[]) => Promise<Reply>,
): Route => ({
  method: "GET",
  path,
  handle: (request, ...parameters) => Effect.promise(() => answer(request, ...parameters)),
});

export const apiRoutes = (runs: ServedRuns): readonly Route[] => [
  get("/api/catalogue", (request) => jsonReply(request, metricCards)),
  get("/api/comparison", async (request) => jsonReply(request, await comparison(runs))),
  get("/api/runs", async (request) => jsonReply(request, await cards(runs))),
  ...Object.entries(runAnswers).map(([rest, answer]) =>
    get(`/api/runs/:id${rest}`, async (request, id = "", ...parameters) => {
      const store = await runs.store(id);
      if (store === undefined) throw unknownRun(id, runs.ids());
      return answer({ ...request, store, parameters });
    }),
  ),
];
