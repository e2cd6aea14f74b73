/**
 * Episodes that our server keeps between HTTP requests, each under the `episode_id` its reset named, until `/close` or until it is idle for
 * too long. A reset without an id is answered and nothing is kept, as in OpenEnv. Kept episodes and sockets share one table of sessions.
 */
import { Result, Schema } from "effect";
import { type Answer, answerOf, failed, ok, refusal } from "./Answer.ts";
import * as Dialogue from "./Dialogue.ts";
import { CloseBody, StepBody } from "./Protocol.ts";
import { fullMessage, type Served } from "./Served.ts";
import type { Place } from "./SessionTable.ts";

interface Kept {
  readonly place: Place;
  dialogue: Dialogue.Dialogue;
}

const decodeStep = Schema.decodeUnknownResult(StepBody);
const decodeClose = Schema.decodeUnknownResult(CloseBody);

const idOf = (body: unknown): string | null =>
  typeof body === "object" && body !== null && "episode_id" in body && typeof body.episode_id === "string"
    ? body.episode_id
    : null;

const notKept = (id: string | null): Answer =>
  id === null
    ? failed(409, "no episode is kept without a name: give /reset and /step the same episode_id, or use /ws", {
        code: "SESSION_ERROR",
      })
    : failed(404, `no episode ${JSON.stringify(id)} is kept here any more`, { code: "SESSION_ERROR" });

export class KeptEpisodes {
  readonly #served: Served;
  readonly #kept = new Map<string, Kept>();

  constructor(served: Served) {
    this.#served = served;
  }

  reset(body: unknown): Answer {
    const { host, nextSeed } = this.#served;
    const id = idOf(body);
    const before = id === null ? undefined : this.#kept.get(id);
    const { dialogue, reply } = Dialogue.reset(host, before?.dialogue ?? null, body, nextSeed);
    if (id === null || reply._tag === "Refused") return answerOf(reply);
    if (before === undefined) return this.#keep(id, dialogue, answerOf(reply));
    before.place.touch();
    before.dialogue = dialogue;
    return answerOf(reply);
  }

  step(body: unknown): Answer {
    const asked = decodeStep(body);
    if (Result.isFailure(asked)) return refusal(Dialogue.misfit("the step is not understood", asked.failure));
    const { action, episode_id: id = null } = asked.success;
    const episode = id === null ? undefined : this.#kept.get(id);
    if (episode === undefined) return notKept(id);
    episode.place.touch();
    const { dialogue, reply } = Dialogue.step(this.#served.host, episode.dialogue, action);
    episode.dialogue = dialogue;
    return answerOf(reply);
  }

  state(id: string | null): Answer {
    if (id === null) return ok({ ...Dialogue.stateOf(null) });
    const episode = this.#kept.get(id);
    return episode === undefined ? notKept(id) : ok({ ...Dialogue.stateOf(episode.dialogue) });
  }

  close(body: unknown): Answer {
    const asked = decodeClose(body);
    if (Result.isFailure(asked)) return refusal(Dialogue.misfit("the close is not understood", asked.failure));
    const id = asked.success.episode_id;
    this.#kept.get(id)?.place.leave();
    return ok({ closed: this.#kept.delete(id) });
  }

  #keep(id: string, dialogue: Dialogue.Dialogue, answer: Answer): Answer {
    const { sessions } = this.#served;
    const place = sessions.enter(() => this.#kept.delete(id));
    if (place === null) {
      const more = { code: "CAPACITY_REACHED", active_sessions: sessions.active(), max_sessions: sessions.max };
      return failed(503, fullMessage(sessions), more);
    }
    this.#kept.set(id, { place, dialogue });
    return answer;
  }
}
