/** Checks of an evaluation's endpoints and of the names of its players. */
import { choices } from "../../support/text/nearest.ts";
import { endpointsOf, playersOf } from "../players.ts";
import { showValue } from "../show.ts";
import { type Check, problemIf } from "./Check.ts";

export const endpoints: Check = (config) =>
  endpointsOf(config).flatMap(({ entry, key, keys }) => {
    const registeredModels = Object.keys(config.evaluation.model_info);
    const isRegistered = registeredModels.includes(keys.model);
    const isEndpoint = keys.kind !== "none" || isRegistered;
    return [
      // The message omits the value, which may be the secret itself.
      ...problemIf(
        !/^([A-Za-z_][A-Za-z0-9_]{0,63})?$/.test(keys.api_key_env),
        () => `${key}.api_key_env: expected the name of an environment variable that holds the key, not the key`,
      ),
      ...problemIf(!isEndpoint && keys.model !== "", () => {
        const names =
          registeredModels.length === 0
            ? ""
            : `, or a name of evaluation.model_info (${choices(keys.model, registeredModels, 20)})`;
        return `${key}.kind: none: ${showValue(keys.model)} needs openai or anthropic${names}; nearest: openai`;
      }),
      ...problemIf(
        isEndpoint && keys.model === "",
        () => `${key}.model: "": expected the model's name at the endpoint`,
      ),
      ...problemIf(
        keys.budget_usd > 0 && keys.price_in === 0 && keys.price_out === 0,
        () => `${key}.budget_usd: ${keys.budget_usd}: needs price_in and price_out; nearest: 0`,
      ),
      ...problemIf(
        keys.kind === "anthropic" && keys.omit.includes("max_tokens"),
        () => `${key}.omit: ["max_tokens"]: Anthropic's endpoint asks for it; nearest: []`,
      ),
      ...problemIf(
        entry.path !== "" && Object.keys(entry.endpoint).length > 0,
        () => `${key}: a model with a path is a checkpoint, which has no endpoint; leave one of them out`,
      ),
    ];
  });

/** Players need distinct names, because they name an evaluation's folders. */
export const playerNames: Check = (config) => {
  const names = playersOf(config).map(({ name }) => name);
  const duplicate = names.find((name, index) => names.indexOf(name) < index);
  return problemIf(
    duplicate !== undefined,
    () => `evaluation.models: two models are called ${showValue(duplicate)}; give each its own name`,
  );
};
