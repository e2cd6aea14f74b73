/**
 * Reads a payload: one of our server, whose observation holds everything, or one of another server, read as the configuration says. Both
 * give the same form; what cannot be read is a `RemoteError`.
 */
import { createHash } from "node:crypto";
import { Schema } from "effect";
import { decoded, excerpt } from "./Channel.ts";
import type { JsonObject, Payload } from "./Protocol.ts";
import type { RemoteConfig } from "./RemoteConfig.ts";
import { RemoteError } from "./RemoteError.ts";
import { isOurs, Showing } from "./Showing.ts";

/** What is shown of a state. */
export interface Shown {
  readonly text: string;
  readonly compact: string;
  readonly actions: readonly string[] | null;
}

export interface Reading {
  readonly shown: Shown;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Null for a server that is not ours; its instance is then named by its first text. */
  readonly said: {
    readonly contentKey: string;
    readonly success: boolean;
    readonly info: Readonly<Record<string, number | boolean>>;
  } | null;
}

const decodeShowing = Schema.decodeUnknownResult(Showing);

/** Fields that hold the text in the environments that come with OpenEnv. */
const usualFields = ["text", "prompt", "message", "question"] as const;

const mostWords = 45;

/** The first words, in ASCII, few enough for a small model. */
export const shortened = (text: string): string => {
  const plain = text.replaceAll(/[^\x20-\x7e]+/g, " ").trim();
  return plain.split(/\s+/).slice(0, mostWords).join(" ") || "-";
};

/** Names an instance by the text it begins with. */
export const keyOf = (type: string, text: string): string =>
  `${type}:${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;

export const rewardOf = ({ reward }: Payload): number => Number(reward ?? 0);

const wrong = (from: string, problem: string, observation: JsonObject): RemoteError =>
  new RemoteError({ reason: "nonsense", message: `${from}: ${problem}: ${excerpt(JSON.stringify(observation))}` });

const textOf = ({ observation_field: name, url }: RemoteConfig, observation: JsonObject): string => {
  if (name !== "") {
    const value = observation[name];
    if (value === undefined) throw wrong(url, `the observation has no field ${name} (observation_field)`, observation);
    return typeof value === "string" ? value : JSON.stringify(value);
  }
  const usual = usualFields.find((field) => typeof observation[field] === "string" && observation[field] !== "");
  return usual === undefined ? JSON.stringify(observation) : String(observation[usual]);
};

const actionsOf = (
  { legal_actions_field: name, url }: RemoteConfig,
  observation: JsonObject,
): readonly string[] | null => {
  if (name === "") return null;
  const value = observation[name];
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string" || typeof item === "number")) {
    throw wrong(url, `the observation's ${name} (legal_actions_field) is no list of actions`, observation);
  }
  return value.map(String);
};

export const read = (config: RemoteConfig, payload: Payload): Reading => {
  const { done = false, observation } = payload;
  if (isOurs(payload)) {
    const text = JSON.stringify(observation);
    const showing = decoded(decodeShowing(observation), text, config.url);
    return {
      shown: { text: showing.text, compact: showing.compact, actions: showing.legal_actions },
      reward: rewardOf(payload),
      terminated: showing.terminated,
      truncated: showing.truncated,
      said: { contentKey: showing.content_key, success: showing.success, info: showing.info },
    };
  }
  const text = textOf(config, observation);
  const truncated = done && observation.truncated === true;
  return {
    shown: { text: text === "" ? "-" : text, compact: shortened(text), actions: actionsOf(config, observation) },
    reward: rewardOf(payload),
    terminated: done && !truncated,
    truncated,
    said: null,
  };
};
