/** Holds the environment to the contract that training relies on. */
import { test } from "node:test";
import { contract } from "millrace/env/contract";
import treasure from "./treasure.ts";

for (const { name, run } of contract(treasure, { size: 4 })) test(name, run);
