import { createHash, randomBytes } from "node:crypto";
import { mkdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect, Result } from "effect";
import { expect } from "vitest";
import { parseRange, serveFiles } from "../../../src/remote/workers/files/FileServer.ts";
import { fetchFolder } from "../../../src/remote/workers/files/fetchFolder.ts";
import type { FileSource, ServeRequest } from "../../../src/remote/workers/files/protocol.ts";
import * as Manifest from "../../../src/support/files/Manifest.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";

const token = "a-token-of-sixteen-characters";

/** A served run with version 3, whose weights are `size` random bytes. */
const served = Effect.fnUntraced(function* (size: number, changes: Partial<ServeRequest> = {}) {
  const folder = yield* temporaryFolder;
  const weights = join(folder, "versions");
  const version = join(weights, "v3");
  const bytes = randomBytes(size);
  yield* Effect.promise(async () => {
    await mkdir(version, { recursive: true });
    await writeFile(join(version, "model.safetensors"), bytes);
    await writeFile(join(version, "config.json"), "{}");
    await writeFile(join(version, "empty"), "");
    await writeFile(join(folder, "secret"), "secret");
  });
  yield* Manifest.seal(version);
  yield* Effect.promise(() => writeFile(join(version, "unlisted"), "unlisted"));
  const request = {
    host: "127.0.0.1",
    port: 0,
    hosts: [],
    epoch: "e1",
    weights,
    model: null,
    token,
    tls: null,
    ...changes,
  };
  const { url } = yield* serveFiles(request);
  const base = `${url}/e1`;
  const source: FileSource = { url: `${base}/weights/v3`, token, ca: null };
  return { folder, weights, bytes, base, source, into: join(folder, "cache", "v3") };
});

const status = (url: string, headers: Record<string, string> = { authorization: `Bearer ${token}` }) =>
  Effect.promise(async () => {
    const answer = await fetch(url, { headers });
    return { status: answer.status, text: await answer.text() };
  });

describe("model and weights over HTTP", () => {
  it.live("arrive whole, as the manifest lists them", () =>
    Effect.gen(function* () {
      const { bytes, into, source } = yield* served(300_000);
      expect(yield* fetchFolder({ from: source, into, byContents: false, weightsOnly: false })).toBe(into);
      yield* Manifest.verify(into);
      expect(Buffer.compare(yield* Effect.promise(() => readFile(join(into, "model.safetensors"))), bytes)).toBe(0);
    }),
  );

  it.live("go on where a transfer broke off, and begin anew where the part is of another file", () =>
    Effect.gen(function* () {
      const { bytes, into, source } = yield* served(300_000);
      const part = join(`${into}.partial`, "model.safetensors");
      yield* Effect.promise(async () => {
        await mkdir(`${into}.partial`, { recursive: true });
        await writeFile(part, bytes.subarray(0, 200_000));
      });
      yield* fetchFolder({ from: source, into, byContents: false, weightsOnly: false });
      yield* Manifest.verify(into);
      // A partial file with other bytes fails its checksum, and the file is fetched whole.
      const other = `${into}-other`;
      yield* Effect.promise(async () => {
        await mkdir(`${other}.partial`, { recursive: true });
        await writeFile(join(`${other}.partial`, "model.safetensors"), randomBytes(200_000));
      });
      yield* fetchFolder({ from: source, into: other, byContents: false, weightsOnly: false });
      yield* Manifest.verify(other);
    }),
  );

  it.live("answer the rest of a file, and nothing beyond its end", () =>
    Effect.gen(function* () {
      const { bytes, source } = yield* served(1_000);
      const get = (range: string) =>
        Effect.promise(() =>
          fetch(`${source.url}/model.safetensors`, { headers: { authorization: `Bearer ${token}`, range } }),
        );
      const rest = yield* get("bytes=600-");
      expect(rest.status).toBe(206);
      expect(rest.headers.get("content-range")).toBe("bytes 600-999/1000");
      expect(Buffer.from(yield* Effect.promise(() => rest.arrayBuffer())).equals(bytes.subarray(600))).toBe(true);
      expect(rest.headers.get("etag")).toBe(`"${createHash("sha256").update(bytes).digest("hex")}"`);
      expect((yield* get("bytes=1000-")).status).toBe(416);
    }),
  );

  it.live("are given to nobody without the token, and nothing else is given to anybody", () =>
    Effect.gen(function* () {
      const { base, source } = yield* served(10);
      expect((yield* status(`${source.url}/manifest.json`, {})).status).toBe(401);
      expect((yield* status(`${source.url}/manifest.json`)).status).toBe(200);
      const others = ["unlisted", "..%2f..%2fsecret", "%2e%2e/secret", "config.json/", ""];
      for (const name of others) expect((yield* status(`${source.url}/${name}`)).text).not.toContain("secret");
      for (const path of [
        "weights/v4/manifest.json",
        "weights/v3/unlisted",
        "model/config.json",
        "secret",
        "weights/v3/x/config.json",
      ]) {
        expect((yield* status(`${base}/${path}`)).status).toBe(404);
      }
      expect((yield* status(`${base.replace("e1", "e0")}/weights/v3/manifest.json`)).status).toBe(410);
    }),
  );

  it.live("are refused with another checksum than the manifest's", () =>
    Effect.gen(function* () {
      const { into, source, weights } = yield* served(1_000);
      const path = join(weights, "v3", "model.safetensors");
      yield* Effect.promise(() => writeFile(path, randomBytes(1_000)));
      const result = yield* Effect.result(fetchFolder({ from: source, into, byContents: false, weightsOnly: false }));
      expect(Result.isFailure(result) && result.failure.reason).toBe("damaged");
      expect(yield* Effect.promise(() => stat(into).catch(() => null))).toBeNull();
      yield* Effect.promise(() => truncate(path, 10));
      const gone = yield* Effect.result(fetchFolder({ from: source, into, byContents: false, weightsOnly: false }));
      expect(Result.isFailure(gone) && gone.failure.reason).toBe("gone");
    }),
  );

  it.live("take one name for the same contents", () =>
    Effect.gen(function* () {
      const { folder, source } = yield* served(1_000);
      const into = join(folder, "models");
      const first = yield* fetchFolder({ from: source, into, byContents: true, weightsOnly: false });
      expect(yield* fetchFolder({ from: source, into, byContents: true, weightsOnly: false })).toBe(first);
      expect(first.startsWith(into)).toBe(true);
    }),
  );

  it("understands the ranges that a transfer is resumed with", () => {
    expect(parseRange(undefined, 10)).toEqual([0, 9]);
    expect(parseRange("bytes=4-", 10)).toEqual([4, 9]);
    expect(parseRange("bytes=4-6", 10)).toEqual([4, 6]);
    expect(parseRange("bytes=4-60", 10)).toEqual([4, 9]);
    expect(parseRange("bytes=10-", 10)).toBeNull();
    expect(parseRange("bytes=6-4", 10)).toBeNull();
    expect(parseRange("lines=1-2", 10)).toEqual([0, 9]);
  });
});
