/** Servers of made runs for tests: an ephemeral port on loopback, closed by hand. */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Effect, Exit, Scope } from "effect";
import { serveWatch, type WatchOptions, type WatchServer } from "../../../../src/observe/watch/server/WatchServer.ts";
import { type Synthetic, writeRun } from "../syntheticRun.ts";

export const token = "0123456789abcdef0123456789abcdef";

export interface Place {
  /** The folder of all runs. */
  readonly root: string;
  readonly folder: string;
  readonly remove: () => void;
}

/** A made run in a folder of its own. */
export const placed = (changes: Partial<Synthetic> = {}): Place => {
  const root = mkdtempSync(join(tmpdir(), "millrace-test-"));
  const folder = join(root, "made", "20261122-000000");
  writeRun(folder, changes);
  return { root, folder, remove: () => rmSync(root, { recursive: true, force: true }) };
};

export const id = "made/20261122-000000";
export const path = (rest = ""): string => `/api/runs/${encodeURIComponent(id)}${rest}`;

export interface Served extends WatchServer {
  readonly close: () => Promise<void>;
}

export const served = async (folders: readonly string[], options: Partial<WatchOptions> = {}): Promise<Served> => {
  const scope = Scope.makeUnsafe();
  const all: WatchOptions = { runs: folders, host: "127.0.0.1", port: 0, token, isPublic: false, ...options };
  const watching = await Effect.runPromise(Scope.provide(serveWatch(all), scope));
  return { ...watching, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) };
};

export interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface Said {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A request as it is written: neither path nor headers are made sensible first. A connection that is cut has status 0. */
export const ask = (port: number, target: string, { body, headers = {}, method = "GET" }: Said = {}): Promise<Heard> =>
  new Promise((resolve) => {
    const cut = (): void => resolve({ status: 0, headers: {}, text: "" });
    const sent = request({ host: "127.0.0.1", port, path: target, method, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", cut);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(pieces).toString("utf8"),
        }),
      );
    });
    sent.on("error", cut);
    sent.end(body);
  });

export const json = async (port: number, target: string): Promise<unknown> =>
  JSON.parse((await ask(port, target)).text);
