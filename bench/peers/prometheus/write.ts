/** Prints what `/metrics` shows when every entry of the catalogue was measured, with awkward labels. check.sh gives it to promtool. */
import { type CatalogueEntry, catalogue, nameOf } from "../../../src/domain/metrics/Catalogue.ts";
import { emptySample } from "../../../src/flow/Gauge.ts";
import * as Registry from "../../../src/observe/sinks/export/Registry.ts";
import * as Exposition from "../../../src/observe/sinks/prometheus/Exposition.ts";
import { metricsOf } from "../../../test/build/metricsOf.ts";
import { run, sample } from "../../../test/observe/sinks/fixtures.ts";

const awkward = ["rollout", 'a"b\\c\nd', "Ünïcode {x}"];

const names = catalogue
  .flatMap(({ entries }) => entries)
  .flatMap((entry: CatalogueEntry) => awkward.map((label) => nameOf(entry).replace(/\{\w+\}/g, () => label)));

const registry = Registry.make(Exposition.nameOf);
registry.run({ ...run, name: 'a "quoted" name' });
registry.step({ step: 3, time: 0, metrics: metricsOf(Object.fromEntries(names.map((name, i) => [name, i / 7]))) });
registry.sample(sample(1000, awkward.map(emptySample)));
process.stdout.write(Exposition.format(registry));
