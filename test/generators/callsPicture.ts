/** Takes the picture of an agent's episode in docs/page.md: `node test/generators/callsPicture.ts RUN`, a run of test/agents/fixtures/forks.ts. */
import type { EpisodePage } from "../../src/observe/watch/Api.ts";
import { type Shot, type Site, takePictures } from "./pictures.ts";

const shotsOf = async (site: Site): Promise<readonly Shot[]> => {
  const [run] = await site.runs();
  if (run === undefined) throw new Error("no run");
  const { episodes } = await site.ask<EpisodePage>(
    `/${encodeURIComponent(run.id)}/episodes?split=train&success=true&limit=1`,
  );
  const [card] = episodes;
  if (card === undefined) throw new Error("no episode that succeeded");
  const parts = ["train", ...[card.step, card.group, card.member].map(String)];
  return [
    {
      name: "calls",
      route: { run: run.id, view: "episodes", parts },
      ready: ".calls .tokens",
      // Most rows are closed, so that the picture has the whole tree.
      before: async (page) => {
        await page.click(".calls-bar button:last-child");
        for (const call of ["Call 2,", "Call 4,", "Call 8,"]) await page.click(`[aria-label^='${call}'] summary`);
      },
      size: [1100, 2000],
      only: ".calls",
    },
  ];
};

const folders = process.argv.slice(2);
if (folders.length !== 1) throw new Error("node test/generators/callsPicture.ts RUN");
await takePictures(folders, shotsOf);
