/** Sinks that cannot write, beside one that can. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { it } from "@effect/vitest";
import { Effect, Logger } from "effect";
import { describe, expect } from "vitest";
import * as Bus from "../../../src/flow/Bus.ts";
import { spanned } from "../../../src/flow/spanned.ts";
import * as Chosen from "../../../src/observe/sinks/RunSinks.ts";
import * as Telemetry from "../../../src/observe/sinks/Telemetry.ts";
import { stepRecord } from "../../build/records.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { notebook, run, someSinks } from "./fixtures.ts";

/** A port that someone else listens on. */
const takenPort = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<ReturnType<typeof createServer>>((resolve) => {
        const server = createServer().listen(0, "127.0.0.1", () => resolve(server));
      }),
  ),
  (server) => Effect.sync(() => server.close()),
).pipe(
  Effect.map((server) => {
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }),
);

describe("a sink that cannot write", () => {
  it.live("is switched off with one warning that names what is in the way, and the run goes on", () =>
    Effect.gen(function* () {
      const warnings: string[] = [];
      const logger = Logger.make(({ message }) => void warnings.push(String(message)));
      // A file where the run's folder should be.
      const folder = join(yield* temporaryFolder, "run");
      writeFileSync(folder, "in the way");
      const port = yield* takenPort;
      const chosen = yield* Chosen.make({
        metrics: {
          ...someSinks,
          sinks: ["tensorboard", "prometheus"],
          prometheus: { host: "127.0.0.1", port },
          trace: true,
        },
        run: { ...run, folder },
        variables: {},
      });
      const bus = yield* Bus.make();
      const good = notebook();
      yield* Effect.gen(function* () {
        const sinks = [...chosen.sinks, good.sink];
        yield* Telemetry.attach({ bus, sinks, run: { ...run, folder } });
        for (let step = 1; step <= 3; step++) yield* spanned(bus.record(stepRecord(step)), "step");
      }).pipe(Effect.scoped, (running) => Chosen.withTracer(running, chosen), Effect.provide(Logger.layer([logger])));
      expect(good.messages).toEqual(["open quickstart", "step 1", "step 2", "step 3", "close Completed"]);
      expect(warnings).toHaveLength(3);
      const text = warnings.join("\n");
      expect(text).toContain(`prometheus is switched off: port ${port} of 127.0.0.1 is taken`);
      expect(text).toContain(`tensorboard is switched off: cannot write to ${join(folder, "tensorboard")}`);
      expect(text).toContain("trace.json is switched off: cannot write");
    }).pipe(Effect.scoped),
  );
});
