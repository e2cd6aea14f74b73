/** Options of a call from code, where nothing but this checks their names: `node` strips types without reading them. */
import { Effect } from "effect";
import { showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { byNearest } from "../src/support/text/nearest.ts";

/** The names of all options of a call. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/** Fails with BadInput on the first option of `call` that is not among `names`. */
export const checkOptions = (call: string, options: object, names: Readonly<Record<string, true>>) => {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown === undefined) return Effect.void;
  const [nearest, ...others] = byNearest(unknown, Object.keys(names));
  const all = [nearest, ...others].join(", ");
  return Effect.fail(
    new BadInput({ message: `${call}: unknown option ${showValue(unknown)}; nearest: ${nearest}; all: ${all}` }),
  );
};
