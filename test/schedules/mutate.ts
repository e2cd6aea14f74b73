/** Preloaded into a process: puts the fault named by MILLRACE_MUTATION into the source that the process loads. The files stay as they are. */
import { registerHooks } from "node:module";
import { mutations } from "./mutations.ts";

const mutation = mutations.find(({ name }) => name === process.env.MILLRACE_MUTATION);
if (mutation === undefined) throw new Error(`no mutation ${process.env.MILLRACE_MUTATION}`);
const { fault, file, name, text } = mutation;

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/${file}`)) return loaded;
    const source = String(loaded.source);
    if (source.split(text).length !== 2) throw new Error(`"${name}" does not find its text once in ${file}`);
    return { ...loaded, source: source.replace(text, () => fault) };
  },
});
