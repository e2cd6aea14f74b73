/**
 * A span around an effect, where the program has a tracer. Under Effect's own tracer, which exports nothing, there is no span: one a turn
 * would make an episode in flight a third larger (`npm run bench -- episodes-in-flight`).
 */
import { Context, Effect, Tracer } from "effect";

/** The tracer of a program that provides none. */
const none = Context.get(Context.empty(), Tracer.Tracer);

/** Share of the groups that are traced, all unless provided: most spans are of groups, and few groups show how they go. */
export const TracedGroups = Context.Reference<number>("millrace/flow/TracedGroups", { defaultValue: () => 1 });

/** True if the program has a tracer. */
export const tracing: Effect.Effect<boolean> = Effect.map(Tracer.Tracer, (tracer) => tracer !== none);

export type Attributes = Readonly<Record<string, string | number | readonly number[]>>;

/** A span where there is a tracer for sure. `outcome` gives attributes that are known when the effect has succeeded. */
export const inSpan = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  name: string,
  attributes: Attributes,
  outcome?: (value: A) => Attributes,
): Effect.Effect<A, E, R> => {
  const annotated =
    outcome === undefined ? effect : Effect.tap(effect, (value) => Effect.annotateCurrentSpan(outcome(value)));
  // A stack trace of the place that opens a span costs much and helps nobody.
  return Effect.withSpan(annotated, name, { attributes, captureStackTrace: false }) as Effect.Effect<A, E, R>;
};

export const spanned = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  name: string,
  attributes: Attributes = {},
  outcome?: (value: A) => Attributes,
): Effect.Effect<A, E, R> =>
  Effect.flatMap(tracing, (traced) => (traced ? inSpan(effect, name, attributes, outcome) : effect));

/** Spreads numbers that follow each other evenly over [0, 1). */
const spread = (group: number): number => (Math.imul(group, 0x9e3779b1) >>> 0) / 2 ** 32;

/** The span of a group. One that is not traced has no tracer for what is inside of it, either, and costs nothing. */
export const groupSpanned = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  group: number,
  attributes: Attributes,
): Effect.Effect<A, E, R> =>
  Effect.flatMap(TracedGroups, (share) =>
    spread(group) < share
      ? spanned(effect, "group", { group, ...attributes })
      : Effect.provideService(effect, Tracer.Tracer, none),
  );
