/** Explores so many seeds (the first argument, from 1) in this process and prints the first failure. Exit code 1 if there is one. */
import { explore } from "./explore.ts";

const failure = await explore(Array.from({ length: Number(process.argv[2]) }, (_, i) => i + 1));
if (failure !== null) {
  console.log(failure);
  process.exitCode = 1;
}
