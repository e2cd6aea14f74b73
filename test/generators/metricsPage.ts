/** Writes docs/metrics.md from the catalogue: `node test/generators/metricsPage.ts`. A test holds the page to what this writes. */
import { writeFileSync } from "node:fs";
import { catalogue, nameOf, type Section } from "../../src/domain/metrics/Catalogue.ts";

const page = new URL("../../docs/metrics.md", import.meta.url);

const sectionText = ({ entries, source, title }: Section): string =>
  [
    `## ${title}`,
    "",
    `From ${source}.`,
    "",
    "| metric | kind | unit | meaning |",
    "|---|---|---|---|",
    ...entries.map(
      (entry) => `| \`${nameOf(entry)}\` | ${entry.kind} | ${entry.unit} | ${entry.meaning.replaceAll("|", "\\|")} |`,
    ),
  ].join("\n");

const head = `# Metrics

Every key of \`metrics.jsonl\`, which has one line a step. Names are RAGEN's where the meaning is the same. A metric that was not measured in a step
is absent from its line, never 0. Generated from \`src/domain/metrics\`.

A \`mean\`, \`max\` or \`min\` is a statistic within the step, a \`share\` a mean between 0 and 1, a \`counter\` counts within the step, a \`total\` counts since the
run began, and a \`level\` is a state at the end of the step. Parts in braces stand for a name: of a stage, a preset (\`tag\`), a split (\`train\` or
\`val-env\`), a phase.`;

export const metricsPage = (): string => `${[head, ...catalogue.map(sectionText)].join("\n\n")}\n`;

if (import.meta.main) writeFileSync(page, metricsPage());
