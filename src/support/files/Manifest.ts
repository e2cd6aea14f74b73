/**
 * manifest.json lists every file of a folder with its size and SHA-256, so that a reader can verify the folder. It is written
 * last. Files are hashed in blocks, so their size costs no memory, and the thread is free between two blocks.
 */
import { createHash } from "node:crypto";
import { open, readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { Effect, Schema } from "effect";
import { replaceText } from "./AtomicWrite.ts";
import { damaged, FileError, fileError } from "./FileError.ts";
import { readText } from "./readText.ts";

export const MANIFEST = "manifest.json";
const SCHEMA = 1;
const LONGEST = 2 ** 20;
const BLOCK_BYTES = 2 ** 20;

const FileDigest = Schema.Struct({
  bytes: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  sha256: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)),
});
export type FileDigest = typeof FileDigest.Type;
const Manifest = Schema.Struct({ schema: Schema.Literal(SCHEMA), files: Schema.Record(Schema.String, FileDigest) });
const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Manifest));

/** Digests by the name inside the folder. */
export type FileDigests = ReadonlyMap<string, FileDigest>;

export const render = (entries: FileDigests): string =>
  `${JSON.stringify({ schema: SCHEMA, files: Object.fromEntries(entries) }, null, 2)}\n`;

/** The files in the text of a manifest; undefined if it is no manifest. */
export const parse = (text: string): FileDigests | undefined => {
  try {
    return new Map(Object.entries(decode(text).files));
  } catch {
    return undefined;
  }
};

const attempt = <A>(path: string, work: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.tryPromise({ try: work, catch: (cause) => fileError(path, cause) });

const digestOf = async (path: string): Promise<FileDigest> => {
  const file = await open(path, "r");
  try {
    const hash = createHash("sha256");
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(block, 0, block.length, bytes);
      if (bytesRead === 0) return { bytes, sha256: hash.digest("hex") };
      hash.update(block.subarray(0, bytesRead));
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
};

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT";

/** Undefined if the folder has no manifest. */
const read = async (folder: string): Promise<FileDigests | undefined> => {
  const path = join(folder, MANIFEST);
  const text = await readText(path, LONGEST).catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    throw fileError(path, cause);
  });
  if (text === undefined) return undefined;
  const entries = parse(text);
  if (entries === undefined) throw damaged(path, `${path}: not a list of files with their checksums`);
  return entries;
};

const namesIn = async (folder: string): Promise<readonly string[]> => {
  const all = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = all
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  return files.filter((name) => name !== MANIFEST).sort();
};

/**
 * Writes the folder's manifest. Digests of an existing manifest are reused, so that a thread that wrote gigabytes hashes them
 * itself, and a later file costs only its own bytes.
 */
export const seal = (folder: string): Effect.Effect<void, FileError> =>
  Effect.gen(function* () {
    const files = yield* attempt(folder, async () => {
      const existing = await read(folder);
      const entries = new Map<string, FileDigest>();
      for (const name of await namesIn(folder))
        entries.set(name, existing?.get(name) ?? (await digestOf(join(folder, name))));
      return entries;
    });
    yield* replaceText(join(folder, MANIFEST), render(files));
  });

/** The digests of the files whose names pass `isIncluded`; nothing is written. */
export const digestFiles = (
  folder: string,
  isIncluded: (name: string) => boolean,
): Effect.Effect<FileDigests, FileError> =>
  attempt(folder, async () => {
    const entries = new Map<string, FileDigest>();
    for (const name of (await namesIn(folder)).filter(isIncluded))
      entries.set(name, await digestOf(join(folder, name)));
    return entries;
  });

/** Reads the folder's manifest. Fails with a `FileError` if it has none. */
export const load = (folder: string): Effect.Effect<FileDigests, FileError> =>
  attempt(folder, async () => {
    const path = join(folder, MANIFEST);
    const entries = await read(folder);
    if (entries === undefined)
      throw new FileError({ path, reason: "missing", message: `${path}: no such file`, cause: undefined });
    return entries;
  });

/** Sizes are compared before any file is read. */
const compare = async (folder: string, entries: FileDigests): Promise<void> => {
  for (const [name, { bytes }] of entries) {
    const path = join(folder, name);
    const stats = await stat(path).catch((cause: unknown) => {
      throw fileError(path, cause);
    });
    if (!stats.isFile() || stats.size !== bytes) {
      throw damaged(path, `${path}: it has ${stats.size} bytes, ${bytes} were written`);
    }
  }
  for (const [name, { sha256 }] of entries) {
    const path = join(folder, name);
    if ((await digestOf(path)).sha256 !== sha256) {
      throw damaged(path, `${path}: its contents do not have the checksum they were written with`);
    }
  }
};

/** Fails with a `FileError` that names the first missing or changed file, or the manifest if there is none. */
export const verify = (folder: string): Effect.Effect<void, FileError> =>
  attempt(folder, async () => {
    const entries = await read(folder);
    if (entries === undefined) {
      const path = join(folder, MANIFEST);
      const message = `${path}: no such file; the folder is damaged, or an early version of Millrace wrote it (model.path=${folder} reads its weights alone)`;
      throw new FileError({ path, reason: "missing", message, cause: undefined });
    }
    await compare(folder, entries);
  });
