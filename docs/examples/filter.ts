/**
 * A filter of your own: trains on the harder half of every window, that is, on the groups in which the fewest episodes succeed.
 *
 * A filter is a function. It gets the usable groups of a window, with their scores by the run file's `filter.metric`, and returns those to
 * train on. A group that it leaves out counts as `filtered` in the ledger.
 *
 * In a checkout: `npm run example -- docs/examples/filter.ts trainer.total_training_steps=10`. Where the package is installed:
 * `npx node filter.ts trainer.total_training_steps=10`. Arguments are overrides of the run file.
 */
import { type ScoredGroup, type Selection, succeeded, train } from "millrace";

/** Share of the group's episodes that succeed. */
const success = ({ episodes }: ScoredGroup): number =>
  episodes.filter(({ episode }) => succeeded(episode)).length / episodes.length;

const harderHalf: Selection = (groups) =>
  groups.toSorted((a, b) => success(a) - success(b)).slice(0, Math.ceil(groups.length / 2));

const run = await train("quickstart", process.argv.slice(2), { filter: harderHalf });
run.events$.subscribe((event) => {
  if (event._tag !== "Verdict") return;
  const { filtered, kept, window } = event;
  console.log(`window ${window}: train on groups ${kept.join(", ")}; leave out ${filtered.join(", ")}`);
});
const { step } = await run.ended;
console.log(`${step} steps in ${run.folder}`);
