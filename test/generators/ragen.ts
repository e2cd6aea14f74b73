/**
 * Writes test/fixtures/ragen/files.json: the keys and values of RAGEN's configuration files and of verl's that they include, flat, without
 * their comments. Texts of instructions are replaced by words of ours.
 *
 * node test/generators/ragen.ts RAGEN_CHECKOUT VERL_CHECKOUT
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";

const [ragen, verl] = process.argv.slice(2);
if (ragen === undefined || verl === undefined)
  throw new Error("node test/generators/ragen.ts RAGEN_CHECKOUT VERL_CHECKOUT");

const instruction = "Words that stand for the instruction.";

const withoutTexts = (value: unknown): unknown => {
  if (Array.isArray(value) || typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    const text = key === "env_instruction" && inner !== "";
    return [key, text ? instruction : withoutTexts(inner)] as const;
  });
  return Object.fromEntries(entries);
};

const valuesOf = (file: string): unknown => withoutTexts(parse(readFileSync(file, "utf8"), { version: "1.1" }));

const config = join(ragen, "config");
const names = readdirSync(config).filter((name) => name.endsWith(".yaml"));
const files = Object.fromEntries([
  ["ppo_trainer", valuesOf(join(verl, "verl", "trainer", "config", "_generated_ppo_trainer.yaml"))],
  ...names.map((name) => [basename(name, ".yaml"), valuesOf(join(config, name))]),
]);
writeFileSync(new URL("../fixtures/ragen/files.json", import.meta.url), `${JSON.stringify(files, null, 2)}\n`);
