/** Who plays an evaluation. */
import { choices } from "../nearest.ts";
import { endpointsOf, playersOf } from "../players.ts";
import { type Check, when } from "../relation.ts";
import { shown } from "../shown.ts";

export const endpoints: Check = (config) =>
  endpointsOf(config).flatMap(({ entry, key, keys }) => {
    const known = Object.keys(config.evaluation.model_info);
    const registered = known.includes(keys.model);
    const plays = keys.kind !== "none" || registered;
    return [
      // The value may be the key itself, and is not repeated.
      ...when(
        !/^([A-Za-z_][A-Za-z0-9_]{0,63})?$/.test(keys.api_key_env),
        () => `${key}.api_key_env: expected the name of an environment variable that holds the key, not the key`,
      ),
      ...when(!plays && keys.model !== "", () => {
        const all =
          known.length === 0 ? "" : `, or a name of evaluation.model_info (${choices(keys.model, known, 20)})`;
        return `${key}.kind: none: ${shown(keys.model)} needs openai or anthropic${all}; nearest: openai`;
      }),
      ...when(plays && keys.model === "", () => `${key}.model: "": expected the model's name at the endpoint`),
      ...when(
        keys.budget_usd > 0 && keys.price_in === 0 && keys.price_out === 0,
        () => `${key}.budget_usd: ${keys.budget_usd}: needs price_in and price_out; nearest: 0`,
      ),
      ...when(
        keys.kind === "anthropic" && keys.omit.includes("max_tokens"),
        () => `${key}.omit: ["max_tokens"]: Anthropic's endpoint asks for it; nearest: []`,
      ),
      ...when(
        entry.path !== "" && Object.keys(entry.endpoint).length > 0,
        () => `${key}: a model with a path is a checkpoint, which has no endpoint; leave one of them out`,
      ),
    ];
  });

/** Folders of an evaluation are named after its players. */
export const playerNames: Check = (config) => {
  const names = playersOf(config).map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return when(
    twice !== undefined,
    () => `evaluation.models: two models are called ${shown(twice)}; give each its own name`,
  );
};
