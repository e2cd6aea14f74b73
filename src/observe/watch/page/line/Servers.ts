/** The parts of the run on other machines: which answer, since when one does not, and when the next attempt is. */
import { html } from "htm/preact";
import type { VNode } from "preact";
import type { ServerChange, ServerState } from "../../../../domain/Server.ts";
import { duration } from "../format.ts";

const badges: Readonly<Record<ServerState["_tag"], string>> = { Up: "", Retrying: "warn", Lost: "bad", ShutOut: "bad" };
const words: Readonly<Record<ServerState["_tag"], string>> = {
  Up: "answers",
  Retrying: "no answer",
  Lost: "lost",
  ShutOut: "shut out",
};

/** The state of a server that does not answer, at the time `at`. */
export const sayingOf = (state: ServerState, at: number): string => {
  switch (state._tag) {
    case "Up":
      return "";
    case "Retrying": {
      const { attempt, nextAt, since, why } = state;
      const next = nextAt > at ? `again in ${duration(nextAt - at)}` : "being asked";
      return `${why}; for ${duration(at - since)}, ${attempt} attempt${attempt === 1 ? "" : "s"}, ${next}`;
    }
    case "Lost":
    case "ShutOut":
      return `${state.why}; for ${duration(at - state.since)}`;
  }
};

export const Servers = ({
  at,
  servers,
}: {
  readonly servers: readonly ServerChange[];
  readonly at: number;
}): VNode => html`<section class="stage servers" aria-label="Servers">
  <header><h3>servers</h3></header>
  <ul>
    ${servers.map(({ name, role, state }) => {
      const saying = sayingOf(state, at);
      return html`<li key=${`${role} ${name}`}>
        <span class="work">${role}</span> <b>${name}</b> <span class="badge ${badges[state._tag]}">${words[state._tag]}</span>
        ${saying === "" ? null : html`<p class="muted">${saying}</p>`}
      </li>`;
    })}
  </ul>
</section>`;
