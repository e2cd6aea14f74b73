/**
 * Under the permissions that `millrace broker-config` prints, a worker can handle its leases and nothing else, and its messages are
 * believed only if they can be true.
 */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "@effect/vitest";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { Effect } from "effect";
import { expect } from "vitest";
import * as Messages from "../../../src/remote/workers/Messages.ts";
import { namesOf } from "../../../src/remote/workers/nats/names.ts";
import * as Parts from "../../../src/remote/workers/ResultParts.ts";
import * as Trial from "../../chaos/Trial.ts";
import { temporaryFolder } from "../../temporaryFolder.ts";
import { countGroups, lastRecord, nats, recorded, steps, trial, worker } from "./support.ts";

const passwords = { LEARNER_PASSWORD: "plearner0", A_PASSWORD: "pa0", EVIL_PASSWORD: "pevil0" };
const as = (user: string, password: string) => ({ MILLRACE_NATS_USER: user, MILLRACE_NATS_PASSWORD: password });

/** A server under the printed configuration, for the workers `a` and `evil` of the run `tiny`. */
const guarded = Effect.gen(function* () {
  const folder = yield* temporaryFolder;
  const file = join(folder, "nats.conf");
  const configured = Effect.fnUntraced(function* (port: number, store: string) {
    const words = ["broker-config", "tiny", "--worker", "a", "--worker", "evil"];
    const { stdout } = yield* Trial.outcome([...words, "--listen", `127.0.0.1:${port}`, "--store", store]);
    yield* Effect.promise(() => writeFile(file, stdout));
    return ["-c", file];
  });
  return yield* nats(configured, passwords);
});

const dial = (url: string, user: string, pass: string) =>
  Effect.acquireRelease(
    Effect.promise(() =>
      connect({ servers: url.replace("nats://", ""), user, pass, inboxPrefix: `_INBOX_${user}`, reconnect: false }),
    ),
    (connection) => Effect.promise(() => connection.close()),
  );

/** True if a request is answered at all. */
const answered = (work: () => Promise<unknown>): Effect.Effect<boolean> =>
  Effect.promise(() =>
    work().then(
      () => true,
      () => false,
    ),
  );

describe("a worker under its permissions", () => {
  it.live("plays its groups, and every other word of it is refused", () =>
    Effect.gen(function* () {
      const broker = yield* guarded;
      const run = yield* trial(broker.url, { trainer: { total_training_steps: 100_000, trajectory_freq: 0 } });
      yield* worker("a", run, broker.url, [], as("a", passwords.A_PASSWORD));
      const learner = yield* Trial.millrace(run.fresh, undefined, as("learner", passwords.LEARNER_PASSWORD));
      yield* steps(run, 3);

      const evil = yield* dial(broker.url, "evil", passwords.EVIL_PASSWORD);
      const names = namesOf("tiny");
      const short = { timeout: 1_000 };
      const manager = yield* Effect.promise(() => jetstreamManager(evil, { checkAPI: false, ...short }));
      const tries: Readonly<Record<string, () => Promise<unknown>>> = {
        "read the streams": () => manager.streams.info(names.resultStream),
        "delete the leases": () => manager.streams.purge(names.workStream),
        "take the learner's results": () => manager.consumers.info(names.resultStream, names.learnerConsumer),
        "make a consumer": () => manager.consumers.add(names.workStream, { durable_name: "mine" }),
        "offer a lease": () => jetstream(evil, short).publish(names.subjects.work, "x", short),
        "describe another run": () => jetstream(evil, short).publish(names.subjects.about, "x", short),
        "announce weights": () => jetstream(evil, short).publish(names.subjects.weights, "x", short),
        "send as another worker": () => jetstream(evil, short).publish(names.subjects.result("a"), "x", short),
      };
      const done = yield* Effect.forEach(Object.entries(tries), ([what, work]) =>
        Effect.map(answered(work), (succeeded) => [what, succeeded] as const),
      );
      expect(done.filter(([, succeeded]) => succeeded)).toEqual([]);
      // The learner's same request is answered: the worker lacks the permission.
      const learnerConnection = yield* dial(broker.url, "learner", passwords.LEARNER_PASSWORD);
      const allowed = yield* Effect.promise(() => jetstreamManager(learnerConnection, short));
      expect(yield* answered(() => allowed.streams.info(names.resultStream))).toBe(true);
      const heard: string[] = [];
      for (const subject of ["_INBOX_a.>", "_INBOX.>", names.subjects.gauges("*"), names.subjects.result("*"), ">"]) {
        evil.subscribe(subject, { callback: (error, message) => void (error === null && heard.push(message.subject)) });
      }
      yield* Effect.sleep("2 seconds");
      expect(heard).toEqual([]);

      learner.child.kill("SIGINT");
      expect((yield* Effect.promise(() => learner.ended)).code).toBe(0);
      expect(countGroups(run.folder() ?? "")).toBeGreaterThan(4);
    }),
  );

  it.live("that sends what cannot be true is not believed, its leases go to others, and it is shut out", () =>
    Effect.gen(function* () {
      const broker = yield* guarded;
      const run = yield* trial(broker.url, { trainer: { total_training_steps: 100_000, trajectory_freq: 0 } });
      const learner = yield* Trial.millrace(run.fresh, undefined, as("learner", passwords.LEARNER_PASSWORD));
      yield* worker("a", run, broker.url, [], as("a", passwords.A_PASSWORD));
      yield* steps(run, 2);
      const evil = yield* dial(broker.url, "evil", passwords.EVIL_PASSWORD);
      const names = namesOf("tiny");
      const client = jetstream(evil);
      // It takes leases, answers each with rubbish under its ticket and with a guess at another's, and ends them.
      yield* Effect.promise(async () => {
        const consumer = await client.consumers.get(names.workStream, names.workersConsumer);
        for (let i = 0; i < 8; i++) {
          const given = await consumer.next({ expires: 2_000 });
          if (given === null) continue;
          const { epoch, prompt, ticket } = Messages.leaseMessage.decode(given.data);
          const lease = { epoch, group: prompt.group, ticket, delivery: given.info.deliveryCount };
          for (const [part] of [
            Parts.split(lease, Buffer.from("rubbish"), 1_000),
            Parts.split({ ...lease, ticket: "guess" }, Buffer.from("rubbish"), 1_000),
          ]) {
            if (part !== undefined) await client.publish(names.subjects.result("evil"), part);
          }
          given.ack();
        }
      });
      yield* recorded(run, (record) => Number(record["workers/shut_out"]) === 1);
      const outside = yield* worker("evil", run, broker.url, [], as("evil", passwords.EVIL_PASSWORD));
      const { code, stderr } = yield* Effect.promise(() => outside.ended);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("refused so many results of evil") });
      const before = Number(lastRecord(run.folder() ?? "").step);
      yield* steps(run, before + 20);
      learner.child.kill("SIGINT");
      expect((yield* Effect.promise(() => learner.ended)).code).toBe(0);
      expect(countGroups(run.folder() ?? "")).toBeGreaterThan(80);
      expect(Number(lastRecord(run.folder() ?? "")["workers/dropped/refused"])).toBeGreaterThan(0);
    }),
  );

  it.live("is served over TLS by a broker and a learner whose certificates it checks", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder;
      const at = (name: string): string => join(folder, name);
      const openssl = (...words: readonly string[]) =>
        Effect.sync(() => execFileSync("openssl", words, { stdio: "pipe" }));
      const name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
      const keyed = (key: string, cert: string) => [
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-keyout",
        at(key),
        "-out",
        at(cert),
      ];
      yield* openssl("req", "-x509", ...keyed("key.pem", "cert.pem"), ...name);
      yield* openssl("req", "-x509", ...keyed("other-key.pem", "other.pem"), ...name);
      const broker = yield* nats((port, store) =>
        Effect.promise(async () => {
          const text = `listen: "127.0.0.1:${port}"\njetstream { store_dir: "${store}" }\ntls { cert_file: "${at("cert.pem")}", key_file: "${at("key.pem")}" }\n`;
          await writeFile(at("nats.conf"), text);
          return ["-c", at("nats.conf")];
        }),
      );
      // The broker's client checks names, and no addresses.
      const url = `tls://localhost:${broker.port}`;
      const tls = { ca: at("cert.pem"), cert: at("cert.pem"), key: at("key.pem") };
      const changes = { trainer: { total_training_steps: 8, save_freq: 0 }, pipeline: { workers: { tls } } };
      const run = yield* trial(url, changes);
      const stranger = yield* worker("s", run, url, ["--tls-ca", at("other.pem")]);
      expect(yield* Effect.promise(() => stranger.ended)).toMatchObject({ code: 2 });
      yield* worker("a", run, url, ["--tls-ca", at("cert.pem")], { MILLRACE_TOKEN: "a-token-of-sixteen-characters" });
      const learner = yield* Trial.millrace(run.fresh, undefined, { MILLRACE_TOKEN: "a-token-of-sixteen-characters" });
      const { code, stderr } = yield* Effect.promise(() => learner.ended);
      expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
      expect(countGroups(run.folder() ?? "")).toBe(32);
    }),
  );
});
