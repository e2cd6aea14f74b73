/** A relation between keys of a decoded run file: returns a line for each problem, none if the relation holds. */
import type { RunConfig } from "../RunConfig.ts";

export type Check = (config: RunConfig) => readonly string[];

export const problemIf = (condition: boolean, line: () => string): readonly string[] => (condition ? [line()] : []);
