import { request } from "node:http";
import { connect, createServer } from "node:net";
import { it } from "@effect/vitest";
import { Effect } from "effect";
import { describe, expect } from "vitest";
import * as Prometheus from "../../../../src/observe/sinks/prometheus/Prometheus.ts";
import type { Sink } from "../../../../src/observe/sinks/Sink.ts";
import { stepRecord } from "../../../build/records.ts";
import { run, sample, stage } from "../fixtures.ts";

const host = "127.0.0.1";

/** A sink on a free port, closed at the end. */
const opened = Effect.gen(function* () {
  let url = "";
  const sink = Prometheus.make({
    host,
    port: 0,
    onListening: (at) => {
      url = at;
    },
  });
  yield* Effect.acquireRelease(sink.open(run), () => Effect.ignore(sink.close({ _tag: "Completed" })));
  return { sink, url };
});

const get = (url: string, init?: RequestInit) =>
  Effect.promise(async () => {
    const response = await fetch(url, init);
    return { status: response.status, type: response.headers.get("content-type"), body: await response.text() };
  });

/** `fetch` sends a Host of its own. */
const status = (port: number, headers: Readonly<Record<string, string>>) =>
  Effect.promise(
    () =>
      new Promise<number | undefined>((resolve, reject) => {
        const sent = request({ host, port, path: "/metrics", headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        sent.on("error", reject).end();
      }),
  );

const linesOf = (body: string, name: string): readonly string[] =>
  body.split("\n").filter((line) => new RegExp(`(^| )${name}[ {]`).test(line));

describe("the sink for Prometheus", () => {
  it.live("shows the newest step, with help and type of the catalogue", () =>
    Effect.gen(function* () {
      const { sink, url } = yield* opened;
      yield* sink.step(stepRecord(1, { "stage/rollout/busy": 0.25, "train/success": 0.5 }));
      yield* sink.step(stepRecord(2, { "stage/rollout/busy": 0.75, "stage/step/busy": 0.5 }));
      const { body, status, type } = yield* get(url);
      expect([status, type]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
      expect(linesOf(body, "millrace_stage_busy")).toEqual([
        "# HELP millrace_stage_busy Slot-time in which the stage worked.",
        "# TYPE millrace_stage_busy gauge",
        'millrace_stage_busy{stage="rollout"} 0.75',
        'millrace_stage_busy{stage="step"} 0.5',
      ]);
      // Not measured in the newest step.
      expect(body).not.toContain("millrace_episodes_success");
      expect(linesOf(body, "millrace_run_step").at(-1)).toBe("millrace_run_step 2");
    }),
  );

  it.live("shows the gauges and the process while they change", () =>
    Effect.gen(function* () {
      const { sink, url } = yield* opened;
      const sendSample = (queue: number) => sink.gauges?.(sample(1000, [stage("rollout", { queue })])) ?? Effect.void;
      yield* sendSample(3);
      expect((yield* get(url)).body).toContain('millrace_live_stage_queue{stage="rollout"} 3');
      yield* sendSample(4);
      const { body } = yield* get(url);
      expect(body).toContain('millrace_live_stage_queue{stage="rollout"} 4');
      expect(linesOf(body, "millrace_process_cpu_seconds_total").at(-1)).toBe("millrace_process_cpu_seconds_total 2");
    }),
  );

  it.live("escapes what labels hold", () =>
    Effect.gen(function* () {
      const { sink, url } = yield* opened;
      yield* sink.step(stepRecord(1, { 'train/a"b\\c\nd/success': 1 }));
      expect((yield* get(url)).body).toContain('tag="a\\"b\\\\c\\nd"} 1');
    }),
  );

  it.live("answers nothing else", () =>
    Effect.gen(function* () {
      const { url } = yield* opened;
      expect((yield* get(url, { method: "POST", body: "x" })).status).toBe(405);
      expect((yield* get(url.replace("/metrics", "/../etc/passwd"))).status).toBe(404);
      expect((yield* get(`${url}?a=1`, { method: "HEAD" })).body).toBe("");
    }),
  );

  it.live("answers no page of the web, and no name that is not this machine's", () =>
    Effect.gen(function* () {
      const { sink, url } = yield* opened;
      yield* sink.step(stepRecord(1, { "train/success": 0.5 }));
      const { port } = new URL(url);
      const sent = (headers: Readonly<Record<string, string>>) => status(Number(port), headers);
      expect(yield* sent({ host: "evil.example" })).toBe(403);
      expect(yield* sent({ host: `evil.example:${port}` })).toBe(403);
      expect(yield* sent({ host: `localhost:${port}`, origin: "http://evil.example" })).toBe(403);
      expect(yield* sent({ host: `127.0.0.1:${port}`, "sec-fetch-site": "cross-site" })).toBe(403);
      for (const host of ["localhost", "127.0.0.1", "[::1]"])
        expect(yield* sent({ host: `${host}:${port}` })).toBe(200);
    }),
  );

  it.live("fails with the port and its key where the port is taken", () =>
    Effect.gen(function* () {
      const { url } = yield* opened;
      const port = Number(new URL(url).port);
      const error = yield* Effect.flip(Prometheus.make({ host, port }).open(run));
      expect(error.message).toBe(
        `port ${port} of 127.0.0.1 is taken (metrics.prometheus.port=${port}); 0 takes any free one`,
      );
    }),
  );

  it.live("fails with the address and its key where the machine does not have it", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Prometheus.make({ host: "192.0.2.1", port: 0 }).open(run));
      expect(error.message).toContain("metrics.prometheus.host=192.0.2.1");
    }),
  );

  it.live("ends although clients hold connections", () =>
    Effect.gen(function* () {
      let url = "";
      const sink: Sink = Prometheus.make({
        host,
        port: 0,
        onListening: (at) => {
          url = at;
        },
      });
      yield* sink.open(run);
      const socket = connect(Number(new URL(url).port), host);
      yield* Effect.promise(() => new Promise((resolve) => socket.once("connect", resolve)));
      const gone = new Promise((resolve) => socket.once("close", resolve));
      socket.on("error", () => undefined);
      socket.write("GET /metrics HTTP/1.1\r\nHost: a\r\n");
      yield* sink.close({ _tag: "Completed" });
      yield* Effect.promise(() => gone);
      // The port is free again.
      const next = createServer().listen(Number(new URL(url).port), host);
      yield* Effect.promise(() => new Promise((resolve) => next.once("listening", resolve)));
      next.close();
    }),
  );
});
