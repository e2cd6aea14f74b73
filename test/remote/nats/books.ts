/** Checks the groups of events.jsonl: each is admitted, played and ended once, whatever happens to workers, broker and learner. */
import { join } from "node:path";
import * as Trial from "../../chaos/Trial.ts";

type Counts = Map<unknown, number>;
type Event = Readonly<Record<string, unknown>>;

const add = (counts: Counts, group: unknown): void => {
  counts.set(group, (counts.get(group) ?? 0) + 1);
};

const list = (event: Event, key: string): readonly unknown[] => {
  const value = event[key];
  return Array.isArray(value) ? value : [];
};

const groupIn = (each: unknown): unknown =>
  typeof each === "object" && each !== null && "group" in each ? each.group : null;

/** The groups whose end an event is. */
const endedBy = (event: Event): readonly unknown[] => {
  switch (event._tag) {
    case "Finished":
      return event.failed === true ? [event.group] : [];
    case "Verdict":
      return list(event, "filtered");
    case "Updated":
    case "UpdateSkipped":
      return list(event, "groups");
    case "Dropped":
      return list(event, "groups").map(groupIn);
    default:
      return [];
  }
};

/** The groups of a run, and a line for each that is lost or counted twice. */
export const books = (folder: string): { readonly groups: number; readonly wrong: readonly string[] } => {
  const [admitted, finished, ends, cut]: readonly Counts[] & { readonly length: 4 } = [
    new Map(),
    new Map(),
    new Map(),
    new Map(),
  ];
  for (const event of Trial.linesOf(join(folder, "events.jsonl"))) {
    // Groups in flight at the checkpoint are admitted again.
    if (event._tag === "Resumed") {
      for (const group of admitted.keys()) {
        if (ends.has(group)) continue;
        admitted.delete(group);
        finished.delete(group);
      }
    }
    if (event._tag === "Admitted") add(admitted, event.group);
    if (event._tag === "Finished") add(finished, event.group);
    for (const group of endedBy(event)) add(ends, group);
    if (event._tag === "Dropped") for (const group of endedBy(event)) add(cut, group);
  }
  const wrong: string[] = [];
  for (const group of new Set([...admitted.keys(), ...finished.keys(), ...ends.keys()])) {
    const times = [admitted, finished, ends].map((counts) => counts.get(group) ?? 0);
    // A group that a stop has cut need not have been played.
    const fine = times[0] === 1 && times[2] === 1 && (times[1] === 1 || (times[1] === 0 && cut.has(group)));
    if (!fine) wrong.push(`group ${group}: admitted ${times[0]}, finished ${times[1]}, ended ${times[2]} times`);
  }
  return { groups: admitted.size, wrong };
};
