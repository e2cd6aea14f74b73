/**
 * The flags that serving commands share: --host, --port and --token-file. The token comes from a file or the environment, because
 * every user of a machine sees its command lines.
 */
import { readFile } from "node:fs/promises";
import { Effect } from "effect";
import { BadInput } from "../../domain/Errors.ts";
import { freePortAbove } from "./freePort.ts";
import { isLoopback } from "./Guard.ts";
import type { ListenFailed } from "./listen.ts";

export const loopback = "127.0.0.1";

/**
 * Fails with the reason why the server cannot listen there, and the nearest free port; `flag` names the flag of the port.
 */
export const listenError = Effect.fnUntraced(function* ({ code, host, port }: ListenFailed, flag = "--port") {
  if (code !== "EADDRINUSE" && code !== "EACCES") {
    return yield* new BadInput({
      message: `--host: ${JSON.stringify(host)}: no address of this machine (${code}); nearest: ${loopback}`,
    });
  }
  const nearest = yield* Effect.promise(() => freePortAbove(host, port));
  const why = code === "EADDRINUSE" ? `in use on ${host}` : "not open to this user";
  return yield* new BadInput({ message: `${flag}: ${port}: ${why}; nearest: ${nearest ?? "none"}` });
});

const tokenVariable = "MILLRACE_TOKEN";
/** A token of this length cannot be guessed; a shorter one may be a word. */
const shortestToken = 16;

const howToMake = "openssl rand -hex 32 makes one";

/** The token from a file or the environment; null if neither is given. */
export const readToken = Effect.fnUntraced(function* (file: string | null) {
  const source = file === null ? tokenVariable : "--token-file";
  const text = yield* file === null
    ? Effect.succeed(process.env[tokenVariable])
    : Effect.tryPromise({
        try: () => readFile(file, "utf8"),
        catch: () => new BadInput({ message: `--token-file: ${JSON.stringify(file)} cannot be read; ${howToMake}` }),
      });
  if (text === undefined || (file === null && text === "")) return null;
  const token = text.trim();
  if (new RegExp(`^[\\x21-\\x7e]{${shortestToken},}$`).test(token)) return token;
  const expected = `a token has ${shortestToken} characters at least, and no blanks`;
  return yield* new BadInput({ message: `${source}: ${expected}; ${howToMake}` });
});

export interface AccessFlags {
  readonly host: string;
  /** Null takes the token from the environment. */
  readonly tokenFile: string | null;
}

/** The token, and whether the server listens beyond loopback. A public server needs a token, which `clients` must send. */
export const accessOf = Effect.fnUntraced(function* ({ host, tokenFile }: AccessFlags, clients: string) {
  const token = yield* readToken(tokenFile);
  const isPublic = !isLoopback(host);
  if (isPublic && token === null) {
    const message =
      `--host: ${JSON.stringify(host)} is open to other machines, so ${clients} must send a token: set ${tokenVariable} or ` +
      `--token-file (${howToMake}); nearest without one: ${loopback}`;
    return yield* new BadInput({ message });
  }
  return { token, isPublic };
});
