/**
 * Finds folders, independently of the working directory: the package's own, and those that a run file names, which are looked up in the
 * working directory first and in the package second. A folder that does not exist is bad input; the message names the nearest one.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, isAbsolute, join, parse, relative, resolve } from "node:path";
import { Effect } from "effect";
import { showText, showValue } from "../src/config/show.ts";
import { BadInput } from "../src/domain/Errors.ts";
import { packageRoot } from "../src/support/files/packageRoot.ts";
import { byNearest, distance } from "../src/support/text/nearest.ts";

export const configDir = join(packageRoot, "config");

/** A path as a user would type it. */
export const asTyped = (path: string): string => {
  const fromHere = relative(process.cwd(), path);
  return fromHere === "" || fromHere.startsWith("..") ? path : fromHere;
};

const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/** Names in a folder; none where it cannot be read. */
const entries = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** Folders of packages and hidden ones are never meant. */
const mayBeMeant = (name: string): boolean => name !== "node_modules" && !name.startsWith(".");

/** Tells whether a word may be a misspelling of a name: at most half of its letters differ. */
const isNear = (word: string, name: string): boolean =>
  distance(word, name) <= Math.max(1, Math.floor(word.length / 2));

/**
 * The nearest folder to a path below `root` that names none, as a user would type it: each of its names that does not exist is replaced by one
 * that is spelt alike. The last name may be any, except right in `root`, where anything may lie.
 */
const nearestFolder = (root: string, path: string): string | undefined => {
  const start = isAbsolute(path) ? parse(path).root : "";
  const names = path
    .slice(start.length)
    .split(/[/\\]+/)
    .filter((name) => name !== "");
  let found = start;
  for (const [at, name] of names.entries()) {
    const here = resolve(root, found);
    const isThere = isFolder(join(here, name));
    const siblings = isThere ? [] : entries(here).filter((other) => mayBeMeant(other) && isFolder(join(here, other)));
    const [nearest] = isThere ? [name] : byNearest(name, siblings);
    const mayBeAny = isThere || (at === names.length - 1 && here !== root);
    if (nearest === undefined || !(mayBeAny || isNear(name, nearest))) return undefined;
    found = join(found, nearest);
  }
  return found;
};

/** The absolute path of a folder that `key` names, or bad input. */
export const existingFolder = (key: string, path: string): Effect.Effect<string, BadInput> => {
  const places = [resolve(path), resolve(packageRoot, path)];
  const found = places.find(isFolder);
  if (found !== undefined) return Effect.succeed(found);
  const nearest = [process.cwd(), packageRoot]
    .map((root) => nearestFolder(root, path))
    .find((name) => name !== undefined);
  const hint = nearest === undefined ? "" : `; nearest: ${showText(nearest, 200)}`;
  return Effect.fail(new BadInput({ message: `${key}: ${showValue(path)}: no such folder${hint}` }));
};

const hubName = /^[\w.-]+\/[\w.-]+$/;

/**
 * Folders that may hold a model of the Hugging Face hub: `models/NAME`, and the snapshot that `hf download` leaves in
 * the hub's cache.
 */
const hubPlaces = (name: string): readonly string[] => {
  const beside = join("models", basename(name));
  const home = process.env.HF_HOME ?? join(homedir(), ".cache", "huggingface");
  const cached = join(process.env.HF_HUB_CACHE ?? join(home, "hub"), `models--${name.replace("/", "--")}`);
  try {
    const commit = readFileSync(join(cached, "refs", "main"), "utf8").trim();
    return [resolve(beside), resolve(packageRoot, beside), join(cached, "snapshots", commit)];
  } catch {
    return [resolve(beside), resolve(packageRoot, beside)];
  }
};

/** The absolute path of a model's folder that `key` names by its path, or as a model of the Hugging Face hub that is on this machine. */
export const modelFolder = (key: string, path: string): Effect.Effect<string, BadInput> =>
  Effect.catchTag(existingFolder(key, path), "BadInput", (error) => {
    if (!hubName.test(path)) return Effect.fail(error);
    const found = hubPlaces(path).find(isFolder);
    if (found !== undefined) return Effect.succeed(found);
    if (error.message.includes("; nearest: ")) return Effect.fail(error);
    const hint = `; a model of the Hugging Face hub is taken from ${join("models", basename(path))} or the hub's cache`;
    return Effect.fail(new BadInput({ message: `${error.message}${hint}` }));
  });
