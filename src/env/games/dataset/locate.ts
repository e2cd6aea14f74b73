/**
 * Finds a data file in the working directory, or else in the package, so that the data that comes with the package is found from anywhere. It
 * gives the path and the format, or one sentence with the reason why there is no such file.
 */
import { constants } from "node:fs";
import { access, readdir, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { packageRoot } from "../../../support/files/packageRoot.ts";
import { byNearest, distance } from "../../../support/text/nearest.ts";
import { jsonArray } from "./jsonArray.ts";
import { jsonLines } from "./jsonLines.ts";
import { parquet } from "./parquet.ts";
import { DatasetError, type RowReader } from "./RowReader.ts";

const readers: ReadonlyMap<string, RowReader> = new Map([
  [".jsonl", jsonLines],
  [".json", jsonArray],
  [".parquet", parquet],
]);

const places = (file: string): readonly string[] => [resolve(file), resolve(packageRoot, file)];

/** A name counts as a misspelling when at most a third of it differs. */
const isSimilar = (written: string, name: string): boolean => 3 * distance(written, name) <= written.length;

/** The most similar data file in the folder of a missing file, with the folder as it was written; undefined if no name is similar. */
const nearest = async (file: string): Promise<string | undefined> => {
  for (const place of places(file)) {
    const siblings = await readdir(dirname(place)).catch(() => []);
    const [name] = byNearest(
      basename(file),
      siblings.filter((sibling) => readers.has(extname(sibling))),
    );
    if (name !== undefined && isSimilar(basename(file), name)) return join(dirname(file), name);
  }
  return undefined;
};

/** The absolute path and the reader of `file`. It rejects with a `DatasetError`. */
export const locate = async (file: string): Promise<{ readonly path: string; readonly reader: RowReader }> => {
  const refuse = (why: string) => new DatasetError({ file, message: `${file}: ${why}` });
  const reader = readers.get(extname(file).toLowerCase());
  if (reader === undefined) throw refuse(`expected a data file named ${[...readers.keys()].join(", ")}`);
  for (const path of places(file)) {
    const stats = await stat(path).catch(() => null);
    if (stats === null) continue;
    if (!stats.isFile()) throw refuse("a folder, not a data file");
    const allowed = await access(path, constants.R_OK).then(
      () => true,
      () => false,
    );
    if (!allowed) throw refuse("may not be read");
    return { path, reader };
  }
  const name = await nearest(file);
  throw refuse(`no such file${name === undefined ? "" : `; nearest: ${name}`}`);
};
