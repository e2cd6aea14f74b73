/** A relation between keys of a decoded run file: the lines of what is wrong, none where it holds. */
import type { RunConfig } from "../RunConfig.ts";

export type Check = (config: RunConfig) => readonly string[];

export const problemIf = (condition: boolean, line: () => string): readonly string[] => (condition ? [line()] : []);
