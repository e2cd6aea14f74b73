/**
 * Runs whose groups are played by worker processes over a real nats-server: whole, with the same bits as without them, and through the
 * death of workers, broker and learner. No run may lose a group or count one twice.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { Effect } from "effect";
import { expect } from "vitest";
import { merge } from "../../../src/config/Tree.ts";
import { restartsOf, survived } from "../../chaos/survived.ts";
import * as Trial from "../../chaos/Trial.ts";
import { withLearnerDeath } from "../../pipelines/deaths.ts";
import { parameterHash } from "../../pipelines/tiny.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { Link } from "./Link.ts";
import { countGroups, freePort, lastRecord, nats, recorded, steps, trial, worker } from "./support.ts";

const folderOf = (trial: Trial.Trial): string => trial.folder() ?? trial.dir;

/** Waits for the end of a training that must succeed. */
const completed = Effect.fnUntraced(function* ({ ended }: Trial.Started) {
  const { code, stderr, stdout } = yield* Effect.promise(() => ended);
  expect({ code, said: code === 0 ? "" : `${stdout}\n${stderr}` }).toEqual({ code: 0, said: "" });
});

describe("a run whose groups are played by workers", () => {
  it.live("has the same bits as one that plays them itself, in sync mode", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const changes = { trainer: { total_training_steps: 6, save_freq: 6 }, pipeline: { mode: "sync" } };
      const remote = yield* trial(broker.url, changes);
      const workers = yield* Effect.forEach(["a", "b"], (name) => worker(name, remote, broker.url));
      yield* completed(yield* Trial.millrace(remote.fresh));
      const alone = yield* trial("", changes);
      yield* completed(yield* Trial.millrace(alone.fresh));
      const hashes = yield* Effect.forEach([remote, alone], (each) =>
        parameterHash(join(folderOf(each), "checkpoints", "step-6")),
      );
      expect(hashes[0]).toBe(hashes[1]);
      expect(countGroups(folderOf(remote))).toBe(24);
      expect(lastRecord(folderOf(remote))).toMatchObject({ "workers/results": 24 });
      // The run tells them of its end.
      for (const { ended } of workers) expect((yield* Effect.promise(() => ended)).code).toBe(0);
    }),
  );

  it.live("loses no group when a worker is killed", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const run = yield* trial(broker.url);
      const [first] = yield* Effect.forEach(["a", "b"], (name) => worker(name, run, broker.url));
      const learner = yield* Trial.millrace(run.fresh);
      yield* steps(run, 5);
      first?.child.kill("SIGKILL");
      yield* completed(learner);
      survived(folderOf(run), 60);
      expect(countGroups(folderOf(run))).toBe(240);
    }),
  );

  it.live("drops what a stalled worker sends too late", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const run = yield* trial(broker.url, { trainer: { total_training_steps: 100_000, trajectory_freq: 0 } });
      const [first] = yield* Effect.forEach(["a", "b"], (name) => worker(name, run, broker.url));
      const learner = yield* Trial.millrace(run.fresh);
      // Both play: one that has not joined yet would hold no lease to lose.
      yield* recorded(run, (record) => Number(record["workers/joined"]) === 2 && Number(record.step) >= 5);
      const tooLate = Effect.sync(() => {
        const record = lastRecord(folderOf(run));
        return Number(record["workers/dropped/duplicate"]) + Number(record["workers/dropped/late"]) > 0;
      });
      // Longer than its leases: its groups are played by the other one. Where it held none when it stopped, it is stalled once more.
      const stalled = Effect.gen(function* () {
        first?.child.kill("SIGSTOP");
        yield* Effect.sleep("5 seconds");
        first?.child.kill("SIGCONT");
        yield* Effect.sleep("3 seconds");
        return yield* tooLate;
      });
      yield* Effect.repeat(stalled, { until: (late) => late }).pipe(Effect.timeout("240 seconds"));
      learner.child.kill("SIGINT");
      yield* completed(learner);
      expect(countGroups(folderOf(run))).toBeGreaterThan(20);
      expect(lastRecord(folderOf(run))).toMatchObject({ "workers/dropped/refused": 0 });
    }),
  );

  it.live("goes on when the broker is killed and started again", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const run = yield* trial(broker.url);
      yield* Effect.forEach(["a", "b"], (name) => worker(name, run, broker.url));
      const learner = yield* Trial.millrace(run.fresh);
      yield* steps(run, 5);
      yield* broker.kill;
      yield* Effect.sleep("2 seconds");
      yield* broker.start;
      yield* completed(learner);
      survived(folderOf(run), 60);
      expect(countGroups(folderOf(run))).toBe(240);
    }),
  );

  it.live("goes on from its checkpoint when the learner is killed, with the same workers", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const run = yield* trial(broker.url, { trainer: { total_training_steps: 40, save_freq: 4 } });
      yield* Effect.forEach(["a", "b"], (name) => worker(name, run, broker.url));
      const learner = yield* Trial.millrace(run.fresh);
      yield* steps(run, 14);
      learner.child.kill("SIGKILL");
      yield* Effect.promise(() => learner.ended);
      yield* completed(yield* Trial.millrace(run.resume()));
      survived(folderOf(run), 40);
      const record = lastRecord(folderOf(run));
      expect(record["ledger/admitted"]).toBe(160 + Number(record["ledger/dropped"]));
    }),
  );

  it.live("is opened again in its process when its learner's thread ends, with the same worker and the same bits", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const order = join(yield* temporaryFolder, "order");
      const changes = merge(withLearnerDeath(order, "process.exit(7);"), {
        trainer: { total_training_steps: 6, save_freq: 2 },
        pipeline: { mode: "sync" },
      });
      const remote = yield* trial(broker.url, changes);
      writeFileSync(order, "");
      // It is the only one, so that it has played the windows before.
      const { ended } = yield* worker("a", remote, broker.url);
      yield* completed(yield* Trial.millrace(remote.fresh));
      expect(restartsOf(folderOf(remote))).toHaveLength(1);
      survived(folderOf(remote), 6);
      const { code, stdout } = yield* Effect.promise(() => ended);
      // A worker that was told of an end at the restart would have left, and nobody would play the rest.
      expect([code, stdout.match(/has ended/g)?.length]).toEqual([0, 1]);
      const alone = yield* trial("", changes);
      yield* completed(yield* Trial.millrace(alone.fresh));
      const hashes = yield* Effect.forEach([remote, alone], (each) =>
        parameterHash(join(folderOf(each), "checkpoints", "step-6")),
      );
      expect(hashes[0]).toBe(hashes[1]);
    }),
  );

  it.live("is played here while there are no workers, and by them as they come", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const run = yield* trial(broker.url, {
        pipeline: { workers: { local: true } },
        trainer: { total_training_steps: 100_000, trajectory_freq: 0 },
      });
      const learner = yield* Trial.millrace(run.fresh);
      yield* steps(run, 3);
      expect(lastRecord(folderOf(run))["workers/results"]).toBe(0);
      yield* worker("a", run, broker.url);
      yield* recorded(run, (record) => Number(record["workers/results"]) > 20);
      learner.child.kill("SIGINT");
      yield* completed(learner);
      expect(countGroups(folderOf(run))).toBeGreaterThan(20);
    }),
  );

  it.live("gives its leases back when a worker is told to stop", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const run = yield* trial(broker.url);
      const [first] = yield* Effect.forEach(["a", "b"], (name) =>
        worker(name, run, broker.url, ["--stop-seconds", "0"]),
      );
      const learner = yield* Trial.millrace(run.fresh);
      yield* steps(run, 5);
      first?.child.kill("SIGINT");
      expect(first && (yield* Effect.promise(() => first.ended))).toMatchObject({ code: 0 });
      yield* completed(learner);
      expect(countGroups(folderOf(run))).toBe(240);
    }),
  );

  it.live("keeps its books over a network that delays, stalls and cuts, while workers are killed", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const port = yield* freePort;
      const link = yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const target = { host: "127.0.0.1", port: broker.port };
          const proxy = new Link({ host: "127.0.0.1", port, target, delayMs: 20 });
          await proxy.listen();
          return proxy;
        }),
        (proxy) => Effect.promise(() => proxy.close()),
      );
      const run = yield* trial(broker.url, { trainer: { total_training_steps: 100_000, trajectory_freq: 0 } });
      const behind = `nats://127.0.0.1:${port}`;
      let started = yield* Effect.forEach(["a", "b", "c"], (name) => worker(name, run, behind));
      const learner = yield* Trial.millrace(run.fresh);
      yield* steps(run, 5);
      for (const disturb of [() => link.cut(), () => link.stall(5_000), () => link.cut()]) {
        disturb();
        const [first, ...others] = started;
        first?.child.kill("SIGKILL");
        const before = Number(lastRecord(folderOf(run)).step);
        started = [...others, yield* worker(`again-${before}`, run, behind)];
        yield* steps(run, before + 10);
      }
      learner.child.kill("SIGINT");
      yield* completed(learner);
      expect(countGroups(folderOf(run))).toBeGreaterThan(100);
    }),
  );

  it.live("trains an adapter with the same bits, whose base is fetched once", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const changes = {
        trainer: { total_training_steps: 4, save_freq: 4 },
        model: { lora: { rank: 2, alpha: 4 } },
        pipeline: { mode: "sync" },
      };
      const remote = yield* trial(broker.url, changes);
      yield* worker("a", remote, broker.url);
      yield* completed(yield* Trial.millrace(remote.fresh));
      const alone = yield* trial("", changes);
      yield* completed(yield* Trial.millrace(alone.fresh));
      const adapters = [remote, alone].map((each) =>
        readFileSync(join(folderOf(each), "checkpoints", "step-4", "adapter_model.safetensors")).toString("base64"),
      );
      expect(adapters[0]).toBe(adapters[1]);
      expect(lastRecord(folderOf(remote))).toMatchObject({ "workers/results": 16 });
      expect(readdirSync(join(remote.dir, "cache-a", "models"))).toHaveLength(1);
    }),
  );

  it.live("says what a worker lacks that cannot play it", () =>
    Effect.gen(function* () {
      const broker = yield* nats();
      const run = yield* trial(broker.url, { pipeline: { stop_deadline_ms: 0 } });
      const none = yield* Trial.outcome(["worker", "--join", "nats://127.0.0.1:1", "--run", "tiny"]);
      expect(none).toMatchObject({ code: 2 });
      expect(none.stderr).toContain("no NATS server answers");
      const nobody = yield* Trial.outcome(["worker", "--join", broker.url]);
      expect(nobody).toMatchObject({ code: 2 });
      expect(nobody.stderr).toContain("no run is trained there");
      const learner = yield* Trial.millrace(run.fresh);
      yield* Effect.sleep("3 seconds");
      const twice = yield* Trial.outcome(run.fresh);
      expect(twice).toMatchObject({ code: 2 });
      expect(twice.stderr).toContain("another process trains");
      const changed = yield* Trial.outcome(["worker", "--join", broker.url, "actor.lr=1"]);
      expect(changed).toMatchObject({ code: 2 });
      expect(changed.stderr).toContain("actor.lr");
      learner.child.kill("SIGINT");
      yield* Effect.promise(() => learner.ended);
    }),
  );
});
