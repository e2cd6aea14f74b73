/**
 * Writes the folder of a run with every kind of record for the proof beside it: steps, one of them a record of 100 kB, notices, system metrics,
 * both tables, numbers that are not finite, and a resume. Usage: node bench/peers/wandb/write.ts FOLDER [killed]
 */
import { mkdirSync } from "node:fs";
import { Effect } from "effect";
import { defaults } from "../../../src/config/defaults.ts";
