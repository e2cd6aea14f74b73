/**
 * Removes private data from a report: secrets of the process that writes it, values of keys that name a secret, credentials in
 * addresses, and paths of this machine. Paths keep their last part. Pure.
 */

export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders of this machine: the home folder, the working folder, the runs'. */
  readonly folders: readonly string[];
}

export interface Redactor {
  /** Removes secrets and this machine's paths from a text that the program wrote. */
  readonly redact: (text: string) => string;
  /** Redacts the run file, key by key. */
  readonly redactConfig: (yaml: string) => string;
  /**
   * True for a text with a secret or a path of this machine. Texts of models and environments are shown unchanged or not at all.
   */
  readonly isSensitive: (text: string) => boolean;
}

const hidden = "[hidden]";

const secretName = /token$|token_file$|secret|passw|api_?key|credential|authorization|cookie|private/i;
/** Shorter values are words that texts contain anyway. */
const shortestSecret = 8;
/** A shorter path such as `/` reveals nothing. */
const shortestFolder = 3;

const credentials = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"']+@/gi;
/** An absolute path. Parts of an address and closing tags do not match. */
const absolute =
  /(?<![\w/.:<…-])(?:file:\/\/)?(?:\/[\w.@+~-]+)+\/([\w.@+~-]+)\/?|\b[A-Za-z]:\\(?:[^\\\s"']+\\)*([^\\\s"']+)/g;

/** The values of environment variables that name a secret. */
const secretsOf = (env: Machine["env"]): readonly string[] =>
  Object.entries(env).flatMap(([name, value]) =>
    /token|secret|passw|key|credential/i.test(name) && value !== undefined && value.length >= shortestSecret
      ? [value]
      : [],
  );

const configLine = /^(\s*(?:- )?)([\w.-]+|"[^"]+"):( +)(\S.*)$/;

/** Hides the value of a key that names a secret. A value that is no text, such as a number of tokens, stays. */
const redactLine = (line: string): string => {
  const [, indent, key, space, value] = configLine.exec(line) ?? [];
  if (key === undefined || value === undefined || !secretName.test(key)) return line;
  return /^(?:null|true|false|-?[\d.]+|\[\]|\{\}|"")$/.test(value) ? line : `${indent}${key}:${space}${hidden}`;
};

export const redactorFor = ({ env, folders }: Machine): Redactor => {
  const secrets = secretsOf(env);
  const places = folders.filter((folder) => folder.length > shortestFolder).toSorted((a, b) => b.length - a.length);
  const redact = (text: string): string => {
    let redacted = text;
    for (const secret of secrets) redacted = redacted.replaceAll(secret, hidden);
    redacted = redacted.replace(credentials, "$1");
    redacted = redacted.replace(
      absolute,
      (_, unix: string | undefined, windows: string | undefined) => `…/${unix ?? windows ?? ""}`,
    );
    for (const place of places) redacted = redacted.replaceAll(place, "…");
    return redacted;
  };
  return {
    redact,
    redactConfig: (yaml) => redact(yaml.split("\n").map(redactLine).join("\n")),
    isSensitive: (text) => [...secrets, ...places].some((one) => text.includes(one)),
  };
};
