/** The controls of the whole run: admission, a validation, a checkpoint, and the stop, which must be confirmed. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Control } from "../../../../domain/Control.ts";
import { Dialog } from "../Dialog.ts";
import type { Controls } from "./useControls.ts";

interface ButtonProps {
  readonly controls: Controls;
  readonly control: Control;
  readonly label: string;
  readonly title: string;
}

const Button = ({ control, controls, label, title }: ButtonProps): VNode =>
  html`<button type="button" data-control=${control._tag} disabled=${controls.reason !== null || controls.pending}
    title=${controls.reason ?? title} onClick=${() => void controls.ask(control)}>${label}</button>`;

export const ControlBar = ({ controls, paused }: { readonly controls: Controls; readonly paused: boolean }): VNode => {
  const [stopping, setStopping] = useState(false);
  const admission = paused
    ? html`<${Button} controls=${controls} control=${{ _tag: "ResumeAdmission" }} label="Resume" title="Admit groups again" />`
    : html`<${Button} controls=${controls} control=${{ _tag: "PauseAdmission" }} label="Pause" title="Admit no further group; what is in flight goes on" />`;
  return html`<div class="controls" role="group" aria-label="Controls of the run">
    ${admission}
    <${Button} controls=${controls} control=${{ _tag: "Validate" }} label="Validate" title="Play a validation after the step under way" />
    <${Button} controls=${controls} control=${{ _tag: "Checkpoint" }} label="Checkpoint" title="Write a checkpoint after the step under way" />
    <button type="button" class="danger" data-control="Stop" disabled=${controls.reason !== null || controls.pending}
      title=${controls.reason ?? "End the run in order"} onClick=${() => setStopping(true)}>Stop</button>
    <${Dialog} open=${stopping} title="Stop the run?" onClose=${() => setStopping(false)}>
      <p>Groups in flight are finished, a checkpoint is written, and the run ends. It can be resumed later with <code>--resume</code>.</p>
      <div class="buttons">
        <button type="button" onClick=${() => setStopping(false)}>Go on training</button>
        <button type="button" class="danger" data-confirm="Stop" onClick=${() => {
          setStopping(false);
          void controls.ask({ _tag: "Stop" });
        }}>Stop the run</button>
      </div>
    <//>
  </div>`;
};
