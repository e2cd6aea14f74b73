/**
 * Three workers in network namespaces of their own, joined by veth to the machine's, behind links that delay, stall and cut; every so often one
 * of them is killed and started again, and half-way the broker. Measures the groups that are played beside what the workers that were up play
 * undisturbed. At the end the learner is killed in the midst of it all and resumed, with the same workers; then the books are checked.
 *
 *   node test/remote/nats/chaos.ts [minutes] [seconds between kills] [record.json]       needs root, ip and nats-server
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { Effect } from "effect";
import { render } from "../../../src/config/render.ts";
import { stream } from "../../../src/domain/Random.ts";
import { tinyConfig } from "../../build/tinyConfig.ts";
import { linesOf, newestIn } from "../../chaos/Trial.ts";
import { writeModel } from "../../pipelines/tiny.ts";
import { books } from "./books.ts";
import { Link } from "./Link.ts";

const root = new URL("../../..", import.meta.url).pathname;
const [minutes = 10, killEvery = 30] = process.argv.slice(2, 4).map(Number);
const record = process.argv[4];
const quietSeconds = Math.max(20, Math.min(120, 12 * minutes));
const WORKERS = [1, 2, 3] as const;
const DOWN_MS = 5_000;
const LEASE_MS = 5_000;
const HERE = "10.77.0.1";
const NATS = 24_222;
const FILES = 24_280;
const portOf = (worker: number): number => 25_222 + worker;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const ip = (...words: readonly string[]): void => void execFileSync("ip", words, { stdio: "pipe" });
const tryIp = (...words: readonly string[]): void => {
  try {
    ip(...words);
  } catch {
    // It was not there.
  }
};
const random = stream({ seed: 7, purpose: "noise", counters: [] });

const takeDown = (): void => {
  for (const worker of WORKERS) {
    tryIp("netns", "del", `mrc${worker}`);
    tryIp("link", "del", `mrcv${worker}`);
  }
  tryIp("addr", "del", `${HERE}/32`, "dev", "lo");
};

const setUp = (): void => {
  takeDown();
  ip("addr", "add", `${HERE}/32`, "dev", "lo");
  for (const worker of WORKERS) {
    const [space, link] = [`mrc${worker}`, `mrcv${worker}`];
    ip("netns", "add", space);
    ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space);
    ip("addr", "add", `10.77.${worker}.1/24`, "dev", link);
    ip("link", "set", link, "up");
    ip("netns", "exec", space, "ip", "addr", "add", `10.77.${worker}.2/24`, "dev", "eth0");
    ip("netns", "exec", space, "ip", "link", "set", "eth0", "up");
    ip("netns", "exec", space, "ip", "link", "set", "lo", "up");
    ip("netns", "exec", space, "ip", "route", "add", "default", "via", `10.77.${worker}.1`);
  }
};

const dir = mkdtempSync(join(tmpdir(), "millrace-chaos-"));
const children = new Set<ChildProcess>();
const start = (program: string, words: readonly string[]): ChildProcess => {
  const child = spawn(program, words, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  child.on("close", () => children.delete(child));
  return child;
};
const startNats = (): ChildProcess =>
  start("nats-server", ["-js", "-sd", join(dir, "nats"), "-a", "127.0.0.1", "-p", `${NATS}`]);

/** When a worker was up: from the moment it has joined to its death. */
interface Life {
  readonly worker: number;
  readonly from: number;
  to: number | null;
}
const lives: Life[] = [];

const startWorker = (worker: number): ChildProcess => {
  const words = ["worker", "--join", `nats://${HERE}:${portOf(worker)}`, "--run", "tiny", "--name", `w${worker}`];
  const node = [process.execPath, join(root, "pipelines", "cli.ts"), ...words, "--cache", join(dir, `cache-${worker}`)];
  const child = start("ip", ["netns", "exec", `mrc${worker}`, "nice", "-n", "10", ...node]);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    if (text.includes("joined")) lives.push({ worker, from: Date.now(), to: null });
  });
  child.on("close", () => {
    for (const life of lives) if (life.worker === worker && life.to === null) life.to = Date.now();
  });
  return child;
};

/** Seconds that workers were up in a span, all of them together. */
const upSeconds = (from: number, to: number): number =>
  lives.reduce((sum, life) => sum + Math.max(0, Math.min(life.to ?? to, to) - Math.max(life.from, from)), 0) / 1_000;

const finishedBetween = (folder: string, from: number, to: number): number =>
  linesOf(join(folder, "events.jsonl")).filter(
    ({ _tag, at }) => _tag === "Finished" && Number(at) >= from && Number(at) < to,
  ).length;

const run = async (): Promise<void> => {
  await Effect.runPromise(writeModel(dir));
  const file = join(dir, "run.yaml");
  const workers = {
    url: `nats://127.0.0.1:${NATS}`,
    listen: `127.0.0.1:${FILES}`,
    files_url: `http://${HERE}:${FILES + 1}`,
    lease_ms: LEASE_MS,
    local: false,
  };
  const config = tinyConfig(dir, {
    trainer: { total_training_steps: 100_000, save_freq: 5, max_checkpoints: 2, trajectory_freq: 0 },
    es_manager: {
      train: { env_groups: 24, group_size: 4, tags: ["Slow"], n_groups: [24] },
      val: { env_groups: 1, group_size: 1, tags: ["Slow"], n_groups: [1] },
    },
    pipeline: { mode: "async", max_staleness: 2, stop_deadline_ms: 10_000, workers },
    generation: { slots: 16 },
    metrics: { console: "plain", sample_ms: 1_000 },
    custom_envs: {
      Slow: {
        env_type: join(root, "test/remote/nats/slow.ts"),
        max_actions_per_traj: 2,
        env_instruction: "Go.",
        max_tokens: 8,
        env_config: { mean_ms: 1_000 },
      },
    },
  });
  writeFileSync(file, render(config));
  setUp();
  let nats = startNats();
  const links = await Promise.all(
    WORKERS.map(async (worker) => {
      const link = new Link({
        host: HERE,
        port: portOf(worker),
        target: { host: "127.0.0.1", port: NATS },
        delayMs: 20,
      });
      await link.listen();
      return link;
    }),
  );
  const files = new Link({ host: HERE, port: FILES + 1, target: { host: "127.0.0.1", port: FILES }, delayMs: 20 });
  await files.listen();
  await sleep(1_000);
  let said = "";
  const startLearner = (...words: readonly string[]): ChildProcess => {
    const child = start(process.execPath, [join(root, "pipelines", "cli.ts"), "train", ...words]);
    for (const output of [child.stdout, child.stderr]) {
      output?.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-4_000);
      });
    }
    return child;
  };
  let learner = startLearner("--config-name", file);
  const alive = new Map(WORKERS.map((worker) => [worker, startWorker(worker)]));
  while (lives.length < WORKERS.length) {
    if (learner.exitCode !== null) throw new Error(said);
    await sleep(200);
  }
  await sleep(8_000);

  const quietFrom = Date.now();
  await sleep(1_000 * quietSeconds);
  const quietTo = Date.now();

  let [kills, stalls, cuts] = [0, 0, 0];
  let nextKill = quietTo + 1_000 * killEvery;
  let restart: number | null = quietTo + 30_000 * minutes;
  const disturb = async (end: number): Promise<void> => {
    while (Date.now() < end) {
      await sleep(1_000);
      const now = Date.now();
      if (now >= nextKill && end - now > DOWN_MS) {
        const worker = WORKERS[kills % WORKERS.length]!;
        alive.get(worker)?.kill("SIGKILL");
        kills++;
        nextKill += 1_000 * killEvery;
        setTimeout(() => alive.set(worker, startWorker(worker)), DOWN_MS);
      }
      if (restart !== null && now >= restart) {
        restart = null;
        nats.kill("SIGKILL");
        await sleep(1_000);
        nats = startNats();
      }
      // Every ten seconds or so something happens to somebody's network.
      const chance = random.uniform();
      if (chance < 0.06) {
        stalls++;
        random.pick([...links, files]).stall(500 + 2_500 * random.uniform());
      } else if (chance < 0.1) {
        cuts++;
        random.pick([...links, files]).cut();
      }
    }
  };
  await disturb(quietTo + 60_000 * minutes);
  const chaosTo = Date.now();
  const folder = newestIn(join(dir, "runs", "tiny")) ?? dir;
  const quiet = finishedBetween(folder, quietFrom, quietTo) / upSeconds(quietFrom, quietTo);
  const disturbed = finishedBetween(folder, quietTo, chaosTo) / upSeconds(quietTo, chaosTo);
  const disturbances = {
    kills,
    stalls,
    cuts,
    upSeconds: { quiet: upSeconds(quietFrom, quietTo), disturbed: upSeconds(quietTo, chaosTo) },
  };
  const stepOf = () => Number(linesOf(join(folder, "metrics.jsonl")).at(-1)?.step ?? 0);

  const killedAt = stepOf();
  learner.kill("SIGKILL");
  await disturb(Date.now() + 2_000);
  learner = startLearner("--resume", folder);
  const resumed = Date.now();
  await disturb(resumed + Math.max(60_000, 1_000 * quietSeconds));
  if (stepOf() <= killedAt) throw new Error(`the resumed run has not come past step ${killedAt}: ${said}`);
  learner.kill("SIGINT");
  const code = await new Promise<number | null>((resolve) => learner.once("close", resolve));
  if (code !== 0) throw new Error(`the learner ended with ${code}: ${said}`);

  const { groups, wrong } = books(folder);
  if (wrong.length > 0) throw new Error(wrong.slice(0, 20).join("\n"));
  const last = linesOf(join(folder, "metrics.jsonl")).at(-1) ?? {};
  const dropped = Object.fromEntries(Object.entries(last).filter(([name]) => name.startsWith("workers/")));
  const result = {
    minutes,
    killEvery,
    leaseMs: LEASE_MS,
    machine: cpus()[0]?.model ?? "",
    ...disturbances,
    brokerRestarts: 1,
    learner: { killedAtStep: killedAt, resumedToStep: stepOf() },
    groups,
    groupsPerWorkerSecond: { quiet, disturbed },
    ratio: disturbed / quiet,
    "staleness/max": last["staleness/max"],
    ...dropped,
  };
  const text = JSON.stringify(result, null, 2);
  process.stdout.write(`${text}\n`);
  if (record !== undefined) writeFileSync(record, `${text}\n`);
  await Promise.all([...links, files].map((link) => link.close()));
};

try {
  await run();
} finally {
  for (const child of children) child.kill("SIGKILL");
  takeDown();
  rmSync(dir, { recursive: true, force: true });
}
process.exit();
