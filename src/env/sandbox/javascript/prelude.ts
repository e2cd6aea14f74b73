/**
 * JavaScript that runs in an interpreter before a submission. Its value is a function of the one host function and the standard input: it
 * defines the few globals that programs expect, and returns the function that calls an entry. It keeps the intrinsics that it needs, so
 * that a submission that replaces them affects only itself.
 */
export const prelude = `(write, stdin) => {
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const { isSafeInteger, isFinite } = Number;
  const text = String, number = Number, fail = TypeError;
  const find = Function.prototype.call.bind(String.prototype.indexOf);
  const cut = Function.prototype.call.bind(String.prototype.slice);

  const shown = (value) => {
    if (typeof value !== "object" || value === null) return text(value);
    try {
      return stringify(value) ?? text(value);
    } catch {
      return "[object]";
    }
  };
  const line = (values) => {
    let joined = "";
    for (let i = 0; i < values.length; i++) joined += (i === 0 ? "" : " ") + shown(values[i]);
    return joined;
  };
  const print = (...values) => write(line(values) + "\\n");
  const silent = () => undefined;
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

  define("console", { log: print, info: print, debug: silent, warn: silent, error: silent });
  let at = 0;
  define("readline", () => {
    if (at >= stdin.length) return null;
    const end = find(stdin, "\\n", at);
    const next = cut(stdin, at, end < 0 ? stdin.length : end);
    at = end < 0 ? stdin.length : end + 1;
    return next;
  });
  const files = {
    readFileSync: (file) => {
      if (file === 0 || file === "/dev/stdin") return stdin;
      throw new fail("there are no files");
    },
    writeFileSync: (file, data) => {
      if (file !== 1 && file !== "/dev/stdout") throw new fail("there are no files");
      write(text(data));
    },
  };
  define("require", (name) => {
    if (name === "fs" || name === "node:fs") return files;
    throw new fail("there is no module " + text(name));
  });
  define("process", { argv: [], env: {}, stdout: { write: (data) => (write(text(data)), true) } });
  define("module", { exports: {} });
  define("exports", module.exports);

  const plain = (_key, value) => {
    if (typeof value === "bigint" && isSafeInteger(number(value))) return number(value);
    if (typeof value === "number" && !isFinite(value)) throw new fail("a result that is no finite number");
    return value;
  };
  return async (entry, args) => stringify(await apply(entry, undefined, parse(args)), plain) ?? "null";
}`;
