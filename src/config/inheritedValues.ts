/**
 * Finds values that a run file sets for a small model while a later layer names another model: the compact template and its lengths.
 * A layer that names the model, or a later one, can set them to make them the user's own.
 */
import type { Layer } from "./compose.ts";
import type { RunConfig } from "./RunConfig.ts";
import { get } from "./Tree.ts";

export interface InheritedValue {
  /** Full key, `rollout.…`. */
  readonly key: string;
  readonly value: string | number;
  /** The file that sets the key. */
  readonly origin: string;
}

const smallModelKeys = ["template", "max_model_len", "response_length"] as const;

const sets = ({ tree }: Layer, ...path: readonly string[]): boolean => get(tree, path) !== undefined;

/** `layers` are under our keys, the most basic first. */
export const inheritedValues = (layers: readonly Layer[], { rollout }: RunConfig): readonly InheritedValue[] => {
  const model = layers.findLastIndex((layer) => sets(layer, "model", "path") || sets(layer, "sft", "init"));
  const small = layers.findLastIndex(
    (layer, index) => index < model && get(layer.tree, ["rollout", "template"]) === "compact",
  );
  if (small < 0) return [];
  return smallModelKeys.flatMap((name) => {
    const setter = layers.findLastIndex((layer) => sets(layer, "rollout", name));
    const isInherited = setter >= 0 && setter <= small && (name !== "template" || rollout.template === "compact");
    return isInherited ? [{ key: `rollout.${name}`, value: rollout[name], origin: layers[setter]!.origin }] : [];
  });
};
