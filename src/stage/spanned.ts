/**
 * A span around an effect, where the program has a tracer. Under Effect's own tracer, which exports nothing, there is no span: one a turn
 * would make an episode in flight a third larger (`npm run bench -- episodes-in-flight`).
 */
import { Context, Effect, Tracer } from "effect";

/** The tracer of a program that provides none. */
const none = Context.get(Context.empty(), Tracer.Tracer);

/** Whether the program has a tracer. */
export const tracing: Effect.Effect<boolean> = Effect.map(Tracer.Tracer, (tracer) => tracer !== none);

export type Attributes = Readonly<Record<string, string | number>>;

export const spanned = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  name: string,
  attributes: Attributes = {},
): Effect.Effect<A, E, R> =>
  Effect.flatMap(tracing, (traced) =>
    traced ? (Effect.withSpan(effect, name, { attributes }) as Effect.Effect<A, E, R>) : effect,
  );
