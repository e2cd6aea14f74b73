/**
 * Records runs for test/domain/alarms.test.ts into test/fixtures/alarms: short trainings by the quickstart's run file with something wrong, and
 * one with nothing wrong. Of each step record it keeps what the alarms go by. Usage: node test/generators/alarmRecords.ts [NAME…]
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const door = (fault: string, penalty = 0): readonly string[] => [
  `custom_envs.Door={env_type: test/fixtures/alarms/Door.ts, env_config: {fault: ${fault}}}`,
  "es_manager.train={env_groups: 4, group_size: 4, tags: [Door], n_groups: [4]}",
  "es_manager.val={env_groups: 4, tags: [Door], n_groups: [4]}",
  `es_manager.format_penalty=${penalty}`,
  "actor.ppo_mini_batch_size=16",
];
const steps = (count: number): string => `trainer.total_training_steps=${count}`;
const few = "es_manager.val.n_groups=[64]";
const small = ["es_manager.val.env_groups=64", few];

/** Overrides of config/quickstart.yaml, by fixture. */
const runs: Readonly<Record<string, readonly string[]>> = {
  quickstart: [steps(30), ...small],
  unread: [steps(4), ...small, "rollout.response_length=8"],
  illegal: [steps(4), ...door("illegal")],
  constant: [steps(6), ...door("constant")],
  unpaid: [steps(14), ...door("constant", -0.1), "generation.temperature=1.5"],
  context: [steps(6), "es_manager.val.env_groups=128", "es_manager.val.n_groups=[128]", "rollout.max_model_len=100"],
  certain: [steps(6), ...small, "generation.temperature=0.01"],
};

const kept =
  /^(step|(train|val-env)\/(success|parsed|entropy|cut_by_length|charts\/avg_episode_return)|train\/[^/]+\/(manager_invalid_action|action_is_valid)|(train|val-env)\/ended\/(context|failed)|rollout\/(in_group_(env_)?reward_std|empty_after_filter)|critic\/advantages\/(min|max)|actor\/(ppo_kl|kl_loss)|mismatch\/ess|collapse_\w+_sample\/regime)$/;

/** Five digits, as bench/results/learning has them. */
const rounded = (value: number): number => Number(value.toPrecision(5));

const recordOf = (line: string): Readonly<Record<string, number>> => {
  const record: Readonly<Record<string, number>> = JSON.parse(line);
  return Object.fromEntries(
    Object.entries(record)
      .filter(([name]) => kept.test(name))
      .map(([name, value]) => [name, rounded(value)]),
  );
};

/** Writes the fixture of a run from its metrics.jsonl. */
const write = (name: string, metrics: string): void => {
  const records = readFileSync(metrics, "utf8").trimEnd().split("\n").map(recordOf);
  const lines = records.map((record) => `    ${JSON.stringify(record)}`).join(",\n");
  const command = JSON.stringify(["millrace", "train", "--config-name", "quickstart", ...(runs[name] ?? [])]);
  writeFileSync(
    join("test/fixtures/alarms", `${name}.json`),
    `{\n  "command": ${command},\n  "records": [\n${lines}\n  ]\n}\n`,
  );
};

const train = (name: string, overrides: readonly string[]): void => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-alarms-"));
  const places = [`run.dir=${folder}`, `run.name=${name}`, "trainer.save_freq=0", "metrics.console=plain"];
  try {
    execFileSync(
      process.execPath,
      ["pipelines/millrace.mjs", "train", "--config-name", "quickstart", ...overrides, ...places],
      { stdio: "inherit" },
    );
    const [run = ""] = readdirSync(join(folder, name));
    write(name, join(folder, name, run, "metrics.jsonl"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const names = process.argv.slice(2);
for (const [name, overrides] of Object.entries(runs)) {
  if (names.length === 0 || names.includes(name)) train(name, overrides);
}
