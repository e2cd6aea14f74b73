/**
 * The action filter: a list of allowed actions and a list of denied ones. If the environment lists its actions, only those that pass stay
 * listed. If actions are free text, one that does not pass changes nothing and counts as invalid; of tools, those that pass stay offered. Names
 * match in any case, as in replies.
 */
import * as Schema from "effect/Schema";
import { field } from "../../config/field.ts";
import type { Wrapper } from "./Wrapper.ts";

const names = Schema.Array(Schema.NonEmptyString);

export const ActionFilterConfig = Schema.Struct({
  allow: field(names, [], "Actions that may be taken; an empty list allows all."),
  deny: field(names, [], "Actions that may not be taken, even if allow names them."),
});

const normal = (name: string): string => name.trim().toLowerCase();

export const actionFilter = ({ allow, deny }: typeof ActionFilterConfig.Type): Wrapper<null> => {
  const allowed = new Set(allow.map(normal));
  const denied = new Set(deny.map(normal));
  return {
    initialMemory: null,
    isAllowed: (action) => {
      const name = normal(action);
      return (allowed.size === 0 || allowed.has(name)) && !denied.has(name);
    },
  };
};
