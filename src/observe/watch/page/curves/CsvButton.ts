/** Saves measurements as CSV: an address where the data stands in the document, else what the server is asked for, with the token. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { save } from "./png.ts";

/** An address, or how the file is got. */
export type Csv = string | (() => Promise<Blob>);

interface CsvButtonProps {
  readonly csv: Csv;
  readonly name: string;
  readonly label: string;
  readonly title: string;
  readonly quiet?: boolean;
}

export const CsvButton = ({ csv, label, name, quiet = false, title }: CsvButtonProps): VNode => {
  const [state, setState] = useState<"ready" | "busy" | "failed">("ready");
  if (typeof csv === "string") return html`<a class="button" href=${csv} download=${name} title=${title}>${label}</a>`;
  const get = (): void => {
    setState("busy");
    csv().then(
      (blob) => {
        save(blob, name);
        setState("ready");
      },
      () => setState("failed"),
    );
  };
  return html`<button type="button" class=${quiet ? "quiet" : ""} disabled=${state === "busy"} data-csv=${name} title=${state === "failed" ? "The server did not answer. Try again." : title}
    onClick=${get}>${state === "failed" ? `${label} failed` : label}</button>`;
};
