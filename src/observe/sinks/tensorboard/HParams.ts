/**
 * The run for TensorBoard's HPARAMS tab (tensorboard/plugins/hparams/api.proto): the experiment's keys and metrics, the run's
 * values at its start, and its end. Pure. Invariant: every run names the same keys, so that runs compare in any order.
 */
import { leaves, type Tree } from "../../../config/Tree.ts";
import { episodes } from "../../../domain/metrics/episodes.ts";
import type { RunOutcome } from "../../../domain/RunOutcome.ts";
import {
  type BinaryWriter,
  double,
  integer,
  message,
  text,
  textElement,
  type WriteFields,
} from "../../../support/protobuf.ts";
import { hparams, type Value } from "./EventProto.ts";

type Scalar = string | number | boolean;
const DataType = { string: 1, boolean: 2, number: 3 } as const;
const Status = { success: 1, failure: 2 } as const;

/** Sections that decide what a run learns. The others control output, watching and separate play. */
const sections: ReadonlySet<string> = new Set([
  "actor",
  "algorithm",
  "critic",
  "es_manager",
  "filter",
  "generation",
  "learner",
  "model",
  "pipeline",
  "rollout",
  "run",
  "trainer",
]);

/** Metrics that runs are compared by. */
const metrics = [episodes.success, episodes.return].map((entry) => entry.of({ split: "val-env" }).name);

const isScalar = (value: unknown): value is Scalar =>
  typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));

/** The keys of a resolved configuration with one value each; a list is its JSON text. */
const settingsOf = (config: Tree): readonly (readonly [string, Scalar])[] =>
  leaves(config).flatMap(({ path, value }) => {
    if (!sections.has(path[0] ?? "")) return [];
    if (isScalar(value)) return [[path.join("."), value] as const];
    return Array.isArray(value) ? [[path.join("."), JSON.stringify(value)] as const] : [];
  });

/** google.protobuf.Value, in which 0, false and an empty text are written. */
const protobufValue = (writer: BinaryWriter, value: Scalar): void => {
  if (typeof value === "number") double(writer, 2, value);
  else if (typeof value === "string") textElement(writer, 3, value);
  else writer.tag(4, 0).bool(value);
};

const typeOf = (value: Scalar): number =>
  typeof value === "string" ? DataType.string : typeof value === "number" ? DataType.number : DataType.boolean;

const experiment =
  (settings: readonly (readonly [string, Scalar])[]): WriteFields =>
  (data) =>
    message(data, 2, (writer) => {
      for (const [key, value] of settings) {
        message(writer, 4, (info) => {
          text(info, 1, key);
          integer(info, 4, typeOf(value));
        });
      }
      for (const metric of metrics) message(writer, 5, (info) => message(info, 1, (name) => text(name, 2, metric)));
    });

const start =
  (settings: readonly (readonly [string, Scalar])[], seconds: number): WriteFields =>
  (data) =>
    message(data, 3, (writer) => {
      for (const [key, value] of settings) {
        message(writer, 1, (entry) => {
          text(entry, 1, key);
          message(entry, 2, (valueWriter) => protobufValue(valueWriter, value));
        });
      }
      double(writer, 5, seconds);
    });

/** The first values of a new run's file. */
export const startValues = (config: Tree, seconds: number): readonly Value[] => {
  const settings = settingsOf(config);
  return [
    hparams("_hparams_/experiment", experiment(settings)),
    hparams("_hparams_/session_start_info", start(settings, seconds)),
  ];
};

/** The last value of a run's file. */
export const endValue = ({ _tag }: RunOutcome, seconds: number): Value =>
  hparams("_hparams_/session_end_info", (data) =>
    message(data, 4, (writer) => {
      integer(writer, 1, _tag === "Failed" ? Status.failure : Status.success);
      double(writer, 2, seconds);
    }),
  );
