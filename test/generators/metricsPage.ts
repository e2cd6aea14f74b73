/** Writes the tables of docs/metrics.md from the catalogue: `node test/generators/metricsPage.ts`. A test holds the page to what this writes. */
import { readFileSync, writeFileSync } from "node:fs";
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

const marker = "<!-- Below: from src/domain/metrics, by test/generators/metricsPage.ts. -->";

/** The page with the tables of the catalogue; what stands above the marker is kept. */
export const metricsPage = (page: string): string => {
  const end = page.indexOf(marker);
  if (end < 0) throw new Error(`docs/metrics.md has no line ${marker}`);
  return `${[page.slice(0, end) + marker, ...catalogue.map(sectionText)].join("\n\n")}\n`;
};

if (import.meta.main) writeFileSync(page, metricsPage(readFileSync(page, "utf8")));
