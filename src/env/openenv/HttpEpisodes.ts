/**
 * Episodes that our server keeps between HTTP requests, each under the `episode_id` of its reset, until `/close` or until it is idle for too long. A
 * reset without an id is answered and nothing is kept, as in OpenEnv. These episodes and sockets share one table of sessions.
 */
import { Result, Schema } from "effect";
import { answerOfReply, failed, type HttpAnswer, ok, refusalAnswer } from "./HttpAnswer.ts";
import { CloseBody, StepBody } from "./Protocol.ts";
import { fullMessage, type ServerContext } from "./ServerContext.ts";
import * as SessionState from "./SessionState.ts";
import type { SessionPlace } from "./SessionTable.ts";

interface HttpEpisode {
  readonly place: SessionPlace;
  session: SessionState.SessionState;
}

const decodeStep = Schema.decodeUnknownResult(StepBody);
const decodeClose = Schema.decodeUnknownResult(CloseBody);

const idOf = (body: unknown): string | null =>
  typeof body === "object" && body !== null && "episode_id" in body && typeof body.episode_id === "string"
    ? body.episode_id
    : null;

const unknownEpisode = (id: string | null): HttpAnswer =>
  id === null
    ? failed(409, "no episode is kept without a name: give /reset and /step the same episode_id, or use /ws", {
        code: "SESSION_ERROR",
      })
    : failed(404, `no episode ${JSON.stringify(id)} is kept here any more`, { code: "SESSION_ERROR" });

export class HttpEpisodes {
  readonly #context: ServerContext;
  readonly #episodes = new Map<string, HttpEpisode>();

  constructor(context: ServerContext) {
    this.#context = context;
  }

  reset(body: unknown): HttpAnswer {
    const { host, nextSeed } = this.#context;
    const id = idOf(body);
    const before = id === null ? undefined : this.#episodes.get(id);
    const { session, reply } = SessionState.reset(host, before?.session ?? null, body, nextSeed);
    if (id === null || reply._tag === "Refused") return answerOfReply(reply);
    if (before === undefined) return this.#keep(id, session, answerOfReply(reply));
    before.place.touch();
    before.session = session;
    return answerOfReply(reply);
  }

  step(body: unknown): HttpAnswer {
    const request = decodeStep(body);
    if (Result.isFailure(request))
      return refusalAnswer(SessionState.schemaRefusal("the step is not understood", request.failure));
    const { action, episode_id: id = null } = request.success;
    const episode = id === null ? undefined : this.#episodes.get(id);
    if (episode === undefined) return unknownEpisode(id);
    episode.place.touch();
    const { session, reply } = SessionState.step(this.#context.host, episode.session, action);
    episode.session = session;
    return answerOfReply(reply);
  }

  state(id: string | null): HttpAnswer {
    if (id === null) return ok({ ...SessionState.stateOf(null) });
    const episode = this.#episodes.get(id);
    return episode === undefined ? unknownEpisode(id) : ok({ ...SessionState.stateOf(episode.session) });
  }

  close(body: unknown): HttpAnswer {
    const request = decodeClose(body);
    if (Result.isFailure(request))
      return refusalAnswer(SessionState.schemaRefusal("the close is not understood", request.failure));
    const id = request.success.episode_id;
    this.#episodes.get(id)?.place.leave();
    return ok({ closed: this.#episodes.delete(id) });
  }

  #keep(id: string, session: SessionState.SessionState, answer: HttpAnswer): HttpAnswer {
    const { sessions } = this.#context;
    const place = sessions.enter(() => this.#episodes.delete(id));
    if (place === null) {
      const more = { code: "CAPACITY_REACHED", active_sessions: sessions.active(), max_sessions: sessions.max };
      return failed(503, fullMessage(sessions), more);
    }
    this.#episodes.set(id, { place, session });
    return answer;
  }
}
