/**
 * Takes messages about bad input apart by their form `KEY: what is wrong; nearest: CHOICE; …`. Tests whose subject is a rule compare the
 * key and the nearest choice; whole sentences stand in the tests of their kind of message (test/config/errors.test.ts has the run file's).
 */
export interface Problem {
  /** The beginning of the line: the key, the flag's command or the file. */
  readonly key: string;
  readonly nearest: string | null;
  readonly text: string;
}

/** The problems of a message, one a line. */
export const problemsIn = (message: string): readonly Problem[] =>
  message
    .trimEnd()
    .split("\n")
    .map((text) => ({
      key: text.split(": ", 1).join(),
      nearest: /; nearest: ([^;]*)/.exec(text)?.[1] ?? null,
      text,
    }));
