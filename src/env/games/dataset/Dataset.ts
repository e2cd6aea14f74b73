/**
 * The rows of an environment's data files: its `prepare` calls `load`, its `reset` calls `draw` or `loadedRows`, and `lacks` and `report` are for the
 * user. Invariant: a thread reads the files of a source once, however many presets and callers need them.
 */
import type { Draws } from "../../../domain/Random.ts";
import type { Split } from "../../contract/Environment.ts";
import { locate } from "./locate.ts";
import { DatasetError } from "./RowReader.ts";
import { readRows } from "./readRows.ts";
import type { RowForm, Source, SplitRows } from "./Source.ts";

interface CachedRows<Row> {
  readonly loading: Promise<SplitRows<Row>>;
  loaded: SplitRows<Row> | null;
}

const cache = new Map<unknown, Map<string, CachedRows<unknown>>>();

/** The loaded rows of a form, by files and columns. */
const cachedRowsOf = <Fields, Row>(form: RowForm<Fields, Row>): Map<string, CachedRows<Row>> => {
  let entries = cache.get(form);
  if (entries === undefined) {
    entries = new Map();
    cache.set(form, entries);
  }
  // A form is the key of its own rows only.
  return entries as Map<string, CachedRows<Row>>;
};

const nameOf = <Fields, Row>({ columns, files }: Source<Fields, Row>): string => JSON.stringify([files, columns]);

/** Reads the files of a source, once in a thread. It rejects with a `DatasetError`, after which the next call tries again. */
export const load = async <Fields, Row>(source: Source<Fields, Row>): Promise<SplitRows<Row>> => {
  const entries = cachedRowsOf(source.form);
  const name = nameOf(source);
  const cached: CachedRows<Row> = entries.get(name) ?? { loading: readRows(source), loaded: null };
  entries.set(name, cached);
  try {
    cached.loaded = await cached.loading;
    return cached.loaded;
  } catch (cause) {
    entries.delete(name);
    throw cause;
  }
};

/** The rows that `load` has read in this thread. It throws if `load` has not been called. */
export const loadedRows = <Fields, Row>(source: Source<Fields, Row>): SplitRows<Row> => {
  const loaded = cachedRowsOf(source.form).get(nameOf(source))?.loaded ?? null;
  if (loaded === null) throw new Error(`${source.files.path} is not loaded: prepare comes before reset`);
  return loaded;
};

/** Draws a row of a split, uniformly. */
export const draw = <Fields, Row>(source: Source<Fields, Row>, split: Split, random: Draws): Row =>
  random.pick(loadedRows(source)[split]);

/** One sentence for each file that is missing or cannot be opened. */
export const lacks = async <Fields, Row>({ files }: Source<Fields, Row>): Promise<readonly string[]> => {
  const problems = await Promise.all(
    [files.path, files.val_path]
      .filter((file) => file !== "")
      .map((file) =>
        locate(file).then(
          () => null,
          (cause: unknown) => (cause instanceof DatasetError ? cause.message : String(cause)),
        ),
      ),
  );
  return problems.filter((problem) => problem !== null);
};

/**
 * One sentence about the unusable rows of each file that has some. Files that this thread has not loaded are read and not kept. It rejects
 * as `load` does.
 */
export const report = async <Fields, Row>(source: Source<Fields, Row>): Promise<readonly string[]> => {
  const { skipped } = await (cachedRowsOf(source.form).get(nameOf(source))?.loading ?? readRows(source));
  return skipped
    .filter(({ count }) => count > 0)
    .map(({ count, examples, file, rows }) => {
      const more = count > examples.length ? "; …" : "";
      return `${file}: ${count} of ${rows} rows cannot be used and are left out: ${examples.join("; ")}${more}`;
    });
};
