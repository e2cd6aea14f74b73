/**
 * Watches the step records of a run for signs that it cannot learn, and raises alarms with a reply that shows what is the matter. Invariant: an
 * alarm is told once while it stands; what is told changes nothing in the run.
 */
import { Effect } from "effect";
import * as Alarms from "../domain/alarms/Alarms.ts";
import type { Explanation } from "../domain/alarms/explanations.ts";
import { type Episode, type Turn, turnsOf } from "../domain/Episode.ts";
import type { Group } from "../domain/Group.ts";
import { type Metrics, metricsFrom } from "../domain/metrics/Metrics.ts";
import { alarms as catalogue } from "../domain/metrics/run.ts";
import { Environments } from "../env/contract/Environments.ts";
import { Bus } from "../flow/Bus.ts";
import { instanceKey } from "./keys.ts";

type ExampleKind = NonNullable<Explanation["example"]>;

const isCut = ({ outcome }: Episode): boolean => outcome._tag === "Truncated" && outcome.reason === "context";

/** True if a turn is an example of the problem. */
const isExample = (kind: ExampleKind, episode: Episode, turn: Turn): boolean => {
  switch (kind) {
    case "unread":
      return !turn.parsed;
    case "illegal":
      return turn.parsed && (turn.actions.length === 0 || turn.info.action_is_valid === 0);
    case "cut":
      return isCut(episode) && turn === turnsOf(episode).at(-1);
    case "any":
      return true;
  }
};

/** The first turn of the groups that shows it; undefined where none does. */
const findExample = (kind: ExampleKind, groups: readonly Group[]) => {
  for (const episode of groups.flatMap(({ episodes }) => episodes)) {
    const turn = turnsOf(episode).find((each) => isExample(kind, episode, each));
    if (turn !== undefined) return { episode, turn };
  }
  return undefined;
};

/** The actions that are legal at the start of the episode's instance; null where any text is, or where it cannot be reset. */
const legalActions = ({ seed, tag }: Episode) =>
  Effect.gen(function* () {
    const environments = yield* Environments;
    const { actions, state } = yield* environments.reset({ tag, instance: instanceKey(seed), split: "train" });
    yield* environments.release(tag, state);
    return actions;
  }).pipe(Effect.orElseSucceed(() => null));

const exampleOf = Effect.fnUntraced(function* (kind: ExampleKind | undefined, groups: readonly Group[]) {
  const shown = kind === undefined ? undefined : findExample(kind, groups);
  if (shown === undefined) return {};
  const { episode, turn } = shown;
  const example: Alarms.Example = { tag: episode.tag, reply: turn.reply, legal: yield* legalActions(episode) };
  return { example };
});

/**
 * Observes a step's record, and emits the alarms that it raises or ends.
 * @param groups the window's groups, for a reply that shows the problem
 * @returns the levels of the alarms, for the record
 */
export const watch = Effect.fnUntraced(function* (step: number, metrics: Metrics, groups: readonly Group[]) {
  const bus = yield* Bus;
  const { counts, ended, raised } = Alarms.observe(bus.state().alarms, step, metrics);
  yield* bus.emit({ _tag: "AlarmsCounted", counts });
  for (const { alarm, title } of ended) yield* bus.emit({ _tag: "AlarmEnded", step, alarm, title });
  for (const { alarm, example } of raised) {
    yield* bus.emit({ _tag: "AlarmRaised", ...alarm, ...(yield* exampleOf(example, groups)) });
  }
  return metricsFrom(
    ...ended.map(({ alarm }) => [catalogue.standing.of({ alarm }), 0] as const),
    ...bus.state().alarms.standing.map(({ alarm }) => [catalogue.standing.of({ alarm }), 1] as const),
  );
});
