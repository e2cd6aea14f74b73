/**
 * The tfjs package that runs models where the run file says `model.runtime: tfjs`: the first of `peers` that is installed. They are optional
 * peers, so nothing of them is loaded before a session asks for it, and this is the only file that loads one.
 * Invariant: a package that is installed and cannot be loaded is an error; the next one never stands in for it silently.
 */
import { createRequire } from "node:module";
import util from "node:util";
import type * as tfjs from "@tensorflow/tfjs";

export type Tf = typeof tfjs;
export type Tensor = tfjs.Tensor;

/** In order of preference: TensorFlow on a GPU, TensorFlow on the CPU, plain JavaScript. */
export const peers = ["@tensorflow/tfjs-node-gpu", "@tensorflow/tfjs-node", "@tensorflow/tfjs"] as const;
export type Peer = (typeof peers)[number];

/** The message for a user without any of the packages. */
export const MISSING_PEER = `model.runtime: tfjs needs one of ${peers.join(", ")}, and none is installed; npm install ${peers[0]}@4.22.0 for an NVIDIA GPU, npm install ${peers[2]}@4.22.0 to try it without one, or set model.runtime to onnx`;

/** Finds a package from here, as `require.resolve` does. */
export type ResolvePackage = (name: string) => string;

const requireHere = createRequire(import.meta.url);

const isInstalled = (name: string, find: ResolvePackage): boolean => {
  try {
    find(name);
    return true;
  } catch {
    return false;
  }
};

/** The peer that would be loaded, or undefined where none is installed. Loads nothing. */
export const installedPeer = (find: ResolvePackage = requireHere.resolve): Peer | undefined =>
  peers.find((name) => isInstalled(name, find));

/** Functions of `node:util` that tfjs-node 4.22 calls and Node removed in version 23. */
const removedFunctions: Readonly<Record<string, (value: unknown) => boolean>> = {
  isNullOrUndefined: (value) => value === null || value === undefined,
  isArray: (value) => Array.isArray(value),
};

/** Gives `target`, `node:util` unless a test says otherwise, the functions that tfjs-node calls and that it lacks. */
export const addRemovedFunctions = (target: object = util): void => {
  for (const [name, value] of Object.entries(removedFunctions))
    if (!(name in target)) Object.defineProperty(target, name, { value, configurable: true, writable: true });
};

let loading: Promise<Tf> | undefined;

const load = async (): Promise<Tf> => {
  const name = installedPeer();
  if (name === undefined) throw new Error(MISSING_PEER);
  addRemovedFunctions();
  let tf: Tf;
  try {
    tf = requireHere(name);
  } catch (cause) {
    throw new Error(`${name} is installed and cannot be loaded: ${cause instanceof Error ? cause.message : cause}`, {
      cause,
    });
  }
  // without it the JavaScript backend recommends tfjs-node on stderr
  tf.enableProdMode();
  await tf.ready();
  return tf;
};

/** The package, loaded once in a thread. Rejects where none is installed or the installed one cannot be loaded. */
export const loadTf = (): Promise<Tf> => {
  loading ??= load();
  return loading;
};
