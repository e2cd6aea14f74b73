/** The devices of a command, before it begins: whether they are there, and what a user should know of them. */
import { Console, Effect } from "effect";
import { isGeneratorRemote } from "../src/config/checks/generator.ts";
import { isLearnerRemote } from "../src/config/checks/learner.ts";
import { generatorDevice, learnerDevice } from "../src/config/devices.ts";
import { isFixedLag } from "../src/config/fixedLag.ts";
import type { RunConfig } from "../src/config/RunConfig.ts";
import { type Device, format, isResident } from "../src/domain/Device.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { prepacksWeights } from "../src/generation/prepacking.ts";
import { type Form, probeRowBits } from "../src/generation/RowBits.ts";
import type { Checkpoint } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import { deviceProblem, hasFloat16 } from "../src/model/runtime/deviceProbe.ts";
import { hasExactInt8, INEXACT_INT8 } from "../src/model/runtime/exactInt8.ts";

/** The roles of a command that compute. */
export type Role = "generator" | "learner";

const keyOf = (role: Role, model: RunConfig["model"]): string =>
  model[`${role}_device`] === "" ? "model.device" : `model.${role}_device`;

const deviceOf = (role: Role, model: RunConfig["model"]): Device =>
  role === "generator" ? generatorDevice(model) : learnerDevice(model);

/** The numbers of a model, and those of the adapter that is trained beside it. */
export interface Sizes {
  readonly parameters: number;
  readonly adapter: number | undefined;
}

const sizesOf = ({ adapter, parameters }: Checkpoint): Sizes => ({
  parameters: parameters.flat.length,
  adapter: adapter?.parameters.flat.length,
});

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

/** Line printed at the start of a run that computes on more than the CPU; undefined for any other run. */
export const devicesLine = (
  model: RunConfig["model"],
  roles: readonly Role[],
  { adapter, parameters }: Sizes,
): string | undefined => {
  const used = roles.map((role) => ({ role, device: deviceOf(role, model) }));
  if (used.every(({ device }) => device.kind === "cpu")) return undefined;
  const where = used.map(({ device, role }) => `${role} on ${format(device)}`).join(", ");
  const lanes =
    roles.includes("learner") && learnerDevice(model).kind !== "cpu" && model.learner_lanes > 1
      ? `; one learner lane, not ${model.learner_lanes}`
      : "";
  const copied =
    roles.length === 2
      ? `; each version${adapter === undefined ? "" : "'s adapter"} is copied between the two through host memory, ${megabytes(4 * (adapter ?? parameters))}`
      : "";
  const resident = used.filter(({ device }) => isResident(device));
  const beside =
    adapter === undefined || resident.length === 0
      ? ""
      : `; the weights beside the adapter are uploaded once for ${resident.map(({ role }) => `the ${role}`).join(" and ")}, ${megabytes(4 * parameters)}`;
  return `${where}: the same seed does not give the same bits${lanes}${copied}${beside}`;
};

/** The parts of a generator that each format other than float32 affects. */
const formatNames = { float16: "float16 weights and caches", int8: "int8 weights" };

/**
 * Line printed when a command generates in another number format than the one that weights are trained in; undefined
 * otherwise.
 */
export const formatLine = (
  { generator_dtype: dtype }: RunConfig["model"],
  roles: readonly Role[],
): string | undefined =>
  dtype === "float32" || !roles.includes("generator")
    ? undefined
    : `generation with ${formatNames[dtype]}: replies are sampled from the rounded policy${
        roles.includes("learner")
          ? ", so its ratio to the learner's is not 1, and mismatch/kl says how far they are apart"
          : ""
      }`;

/** The roles of a training run that compute in this process. */
export const rolesOf = ({ model }: RunConfig): readonly Role[] => [
  ...(isGeneratorRemote(model) ? [] : (["generator"] as const)),
  ...(isLearnerRemote(model) ? [] : (["learner"] as const)),
];

/** Line printed at the start of a run that generates on servers; undefined for any other run. */
const serversLine = ({ generator, learner }: RunConfig["model"]): string | undefined => {
  if (generator.engine === "local") return undefined;
  const where = generator.engine === "tinker" ? learner.url : generator.urls.join(", ");
  return `generation by ${generator.engine} at ${where}: the same seed does not give the same bits`;
};

/** Why generation cannot hold numbers in its format here; undefined where it can. */
const troubleWithFormat = async (model: RunConfig["model"]): Promise<string | undefined> => {
  const device = generatorDevice(model);
  switch (model.generator_dtype) {
    case "float32":
      return undefined;
    case "float16":
      return (await hasFloat16(device))
        ? undefined
        : `${format(device)}: the adapter has no float16 (the feature shader-f16)`;
    case "int8":
      return (await hasExactInt8()) ? undefined : INEXACT_INT8;
  }
};

/** Fails where a device is not there, or has no numbers of the format that generation is to hold. */
export const checkDevices = Effect.fnUntraced(function* (
  { model }: RunConfig,
  roles: readonly Role[],
): Effect.fn.Return<void, BadInput> {
  const seen = new Set<string>();
  for (const role of roles) {
    const device = deviceOf(role, model);
    if (seen.has(format(device))) continue;
    seen.add(format(device));
    const trouble = yield* Effect.promise(() => deviceProblem(device));
    if (trouble !== undefined)
      return yield* new BadInput({ message: `${keyOf(role, model)}: ${trouble}; nearest: cpu` });
  }
  const trouble = roles.includes("generator") ? yield* Effect.promise(() => troubleWithFormat(model)) : undefined;
  if (trouble !== undefined)
    return yield* new BadInput({
      message: `model.generator_dtype: ${model.generator_dtype}: ${trouble}; nearest: float32`,
    });
});

const tell = (line: string | undefined): Effect.Effect<void> => (line === undefined ? Effect.void : Console.log(line));

/** Prints `devicesLine` and `formatLine`, where there are such. */
export const tellDevices = (
  { model }: RunConfig,
  roles: readonly Role[],
  checkpoint: Checkpoint,
): Effect.Effect<void> =>
  Effect.andThen(tell(devicesLine(model, roles, sizesOf(checkpoint))), tell(formatLine(model, roles)));

/**
 * Line printed when a run promises the same bits on a machine where a row's bits depend on its batch; undefined
 * otherwise.
 */
export const bitsLine = (form: Form | undefined): string | undefined =>
  form && `this processor rounds a row of a ${form} by the rows beside it: the same seed does not give the same bits`;

/** Prints `bitsLine` where a run promises the same bits; a run of which `devicesLine` or `serversLine` says otherwise is not probed. */
export const tellBits = (run: RunConfig, { config }: Checkpoint): Effect.Effect<void> => {
  const { model, pipeline } = run;
  const isRepeatable = pipeline.mode !== "async" || isFixedLag(run);
  const isPromised = isRepeatable && !isGeneratorRemote(model) && model.runtime === "onnx";
  if (!isPromised || generatorDevice(model).kind !== "cpu") return Effect.void;
  return Effect.flatMap(
    Effect.promise(() =>
      probeRowBits(config, {
        format: model.generator_dtype,
        intraOpThreads: model.generator_intra_op,
        prepacks: prepacksWeights(model, config, "changing"),
      }),
    ),
    (form) => tell(bitsLine(form)),
  );
};

/** Prints `serversLine`, where there is one. */
export const tellServers = ({ model }: RunConfig): Effect.Effect<void> => tell(serversLine(model));
