/**
 * Takes the pictures of README.md and docs/page.md: `node test/generators/screenshots.ts RUN [OTHER]`, where both are folders of runs. A run that
 * goes on is shown live, one that is over in its middle.
 */
import type { EpisodePage } from "../../src/observe/watch/Api.ts";
import { momentAt, type Shot, type Site, takePictures } from "./pictures.ts";

/** The group to show: kept, with episodes that succeeded and others that did not, and as many turns as any. */
const chosenGroup = ({ episodes }: EpisodePage): readonly string[] => {
  const groups = [...Map.groupBy(episodes, ({ group, step }) => `${step}/${group}`)];
  const turns = (episodesOfGroup: EpisodePage["episodes"]): number =>
    episodesOfGroup.some(({ success }) => success) && episodesOfGroup.some(({ success }) => !success)
      ? Math.max(...episodesOfGroup.map(({ turns }) => turns))
      : 0;
  const [best] = groups.toSorted(([, a], [, b]) => turns(b) - turns(a));
  if (best === undefined) return [];
  const [key, members] = best;
  const member = members.toSorted((a, b) => Number(b.success) - Number(a.success) || b.turns - a.turns)[0]?.member ?? 0;
  return ["train", ...key.split("/"), String(member)];
};

const shotsOf = async (site: Site): Promise<readonly Shot[]> => {
  const [run, other] = await site.runs();
  if (run === undefined) throw new Error("no run");
  const { id } = run;
  const timeline = await site.timeline(id);
  const kept = await site.ask<EpisodePage>(`/${encodeURIComponent(id)}/episodes?split=train&verdict=kept&limit=1000`);
  const newest = run.state === "running" ? null : momentAt(timeline, 0.5);
  return [
    { name: "line", route: { run: id, at: newest }, ready: ".bottleneck" },
    { name: "line-dark", route: { run: id, at: newest }, ready: ".bottleneck", theme: "dark" },
    {
      name: "episode",
      route: { run: id, view: "episodes", parts: chosenGroup(kept) },
      ready: ".group .tokens",
      before: async (page) => void (await page.select(".legend select", "advantage")),
    },
    { name: "filter", route: { run: id, view: "filter" }, ready: ".windowpanel tbody tr" },
    {
      name: "time-travel",
      route: { run: id, view: "curves", at: momentAt(timeline, 0.4) },
      ready: ".chartcard canvas",
    },
    ...(other === undefined
      ? []
      : [
          {
            name: "two-runs",
            route: { run: id, view: "curves" as const, over: [other.id] },
            ready: ".runchip + .runchip",
          },
        ]),
  ];
};

const folders = process.argv.slice(2);
if (folders.length === 0) throw new Error("node test/generators/screenshots.ts RUN [OTHER]");
await takePictures(folders, shotsOf);
