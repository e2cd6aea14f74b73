/**
 * Reads a payload of a Millrace server, whose observation has all fields, or of another server, as the configuration says. Both give the same form;
 * a payload that cannot be read is a `RemoteError`.
 */
import { createHash } from "node:crypto";
import { Schema } from "effect";
import { decodeOrThrow, excerpt } from "./Channel.ts";
import type { JsonObject, Payload } from "./Protocol.ts";
import type { RemoteConfig } from "./RemoteConfig.ts";
import { RemoteError } from "./RemoteError.ts";
import { isFromMillrace, ServedObservation } from "./ServedObservation.ts";

/** The texts and the actions of a state. */
export interface ShownState {
  readonly text: string;
  readonly compact: string;
  readonly actions: readonly string[] | null;
}

export interface PayloadReading {
  readonly shown: ShownState;
  readonly reward: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** The fields of a Millrace server; null for another server, whose instance is named by its first text. */
  readonly millrace: {
    readonly contentKey: string;
    readonly success: boolean;
    readonly info: Readonly<Record<string, number | boolean>>;
  } | null;
}

const decodeShowing = Schema.decodeUnknownResult(ServedObservation);

/** The fields with the text in the environments that come with OpenEnv. */
const usualFields = ["text", "prompt", "message", "question"] as const;

const maxWords = 45;

/** The first words of a text in ASCII, few enough for a small model. */
export const shortened = (text: string): string => {
  const plain = text.replaceAll(/[^\x20-\x7e]+/g, " ").trim();
  return plain.split(/\s+/).slice(0, maxWords).join(" ") || "-";
};

/** Names an instance by its first text. */
export const keyOf = (type: string, text: string): string =>
  `${type}:${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;

export const rewardOf = ({ reward }: Payload): number => Number(reward ?? 0);

const nonsenseError = (from: string, problem: string, observation: JsonObject): RemoteError =>
  new RemoteError({ reason: "nonsense", message: `${from}: ${problem}: ${excerpt(JSON.stringify(observation))}` });

const textOf = ({ observation_field: name, url }: RemoteConfig, observation: JsonObject): string => {
  if (name !== "") {
    const value = observation[name];
    if (value === undefined)
      throw nonsenseError(url, `the observation has no field ${name} (observation_field)`, observation);
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
    throw nonsenseError(url, `the observation's ${name} (legal_actions_field) is no list of actions`, observation);
  }
  return value.map(String);
};

export const readPayload = (config: RemoteConfig, payload: Payload): PayloadReading => {
  const { done = false, observation } = payload;
  if (isFromMillrace(payload)) {
    const text = JSON.stringify(observation);
    const decoded = decodeOrThrow(decodeShowing(observation), text, config.url);
    return {
      shown: { text: decoded.text, compact: decoded.compact, actions: decoded.legal_actions },
      reward: rewardOf(payload),
      terminated: decoded.terminated,
      truncated: decoded.truncated,
      millrace: { contentKey: decoded.content_key, success: decoded.success, info: decoded.info },
    };
  }
  const text = textOf(config, observation);
  const truncated = done && observation.truncated === true;
  return {
    shown: { text: text === "" ? "-" : text, compact: shortened(text), actions: actionsOf(config, observation) },
    reward: rewardOf(payload),
    terminated: done && !truncated,
    truncated,
    millrace: null,
  };
};
