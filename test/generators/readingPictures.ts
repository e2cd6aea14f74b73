/**
 * Takes the pictures of "Reading a run" in docs/metrics.md, of runs that are over:
 * `node test/generators/readingPictures.ts HEALTHY COLLAPSED STALE STARVED DEAD`, where each is the folder of a run.
 */
import type { LineView, RunCard } from "../../src/observe/watch/Api.ts";
import { type Shot, type Site, takePictures } from "./pictures.ts";

/** The width at which a README is shown, so that text keeps its size, and room for all of a view. */
const size = [880, 1600] as const;

/** Parts of the page that a picture of one view has no use for. */
const bare = ".timebar, .controls, .runlegend a, .runlegend button, .chartcard .actions { display: none }";

/** Curves of a run over those of another. */
const curves = (name: string, run: RunCard, other: RunCard, metrics: readonly string[]): Shot => ({
  name,
  route: { view: "curves", run: run.id, over: [other.id] },
  metrics,
  size,
  ready: ".chartcard canvas",
  only: ".charts",
  style: `${bare} .picker, .chartbar { display: none !important } .curvesview { display: block } .charts { padding: 8px }`,
});

/** The stages that tell what starves, side by side, under the sentence that names the bottleneck. */
const line = (name: string, run: RunCard, at: number): Shot => ({
  name,
  route: { run: run.id, at },
  size,
  ready: ".bottleneck",
  only: ".lineview",
  style: `${bare} .stage, .linelegend, .lineview .weights, .lineview .staleness { display: none !important }
    .stage[data-stage="rollout"], .stage[data-stage="learn"], .stage[data-stage="generate"] { display: grid !important }
    .stage::before, .stage::after { display: none !important }
    .line { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 18px }
    .flowrow, .services { display: contents } .stage[data-stage="learn"] { order: 1 } .lineview { padding: 8px }`,
});

/** The groups of every window, with those that failed. */
const windows = (name: string, run: RunCard): Shot => ({
  name,
  route: { view: "filter", run: run.id },
  size,
  ready: ".windowmap canvas",
  only: ".filterview",
  style: `${bare} .windowpanel, .filterview .below-head, .filterview .chartgrid { display: none !important } .filterview { padding: 8px }`,
});

/** The first moment from the middle of the run on at which the learner waits: no group is there, and its slot is free. */
const starvedMoment = async (site: Site, run: string): Promise<number> => {
  const moments = (await site.timeline(run)).steps.map(({ at }) => at);
  for (const at of moments.slice(moments.length / 2)) {
    const { groups, stages } = await site.ask<LineView>(`/${encodeURIComponent(run)}/line?at=${at}`);
    const isLearning = stages.some(({ blocked, name, running }) => name === "learn" && running + blocked > 0);
    if (!isLearning && groups.every(({ place }) => place !== "learn")) return at;
  }
  throw new Error(`the learner of ${run} is never seen to wait`);
};

const shotsOf = async (site: Site): Promise<readonly Shot[]> => {
  const [healthy, collapsed, stale, starved, dead] = await site.runs();
  if (!healthy || !collapsed || !stale || !starved || !dead) throw new Error("a run is missing");
  return [
    curves("collapse", collapsed, healthy, ["train/success", "train/entropy", "actor/ppo_kl", "train/parsed"]),
    curves("staleness", stale, healthy, ["staleness/mean", "mismatch/ess", "actor/pg_clipfrac", "train/success"]),
    line("starvation", starved, await starvedMoment(site, starved.id)),
    windows("dead-environment", dead),
  ];
};

const folders = process.argv.slice(2);
if (folders.length !== 5) {
  throw new Error("node test/generators/readingPictures.ts HEALTHY COLLAPSED STALE STARVED DEAD");
}
await takePictures(folders, shotsOf);
