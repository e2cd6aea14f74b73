/**
 * Sends controls to a run and shows the answers. Asks for the token if there is none or the server refuses it. A control that
 * waits for the token is sent as soon as there is one.
 */
import { useRef, useState } from "preact/hooks";
import type { Control } from "../../../../domain/Control.ts";
import { type Client, RequestRefused } from "../Client.ts";
import type { ShowToast } from "../Toasts.ts";
import * as token from "../token.ts";
import { doneText } from "./wording.ts";

export interface Controls {
  /** The reason why no control can be sent now; null if one can. */
  readonly reason: string | null;
  /** True while a request waits for its answer. */
  readonly pending: boolean;
  readonly ask: (control: Control) => Promise<void>;
}

export interface TokenPrompt {
  readonly open: boolean;
  /** The reason why the token is needed again. */
  readonly wrong: boolean;
  readonly give: (token: string) => void;
  readonly cancel: () => void;
}

export const useControls = (
  api: Client,
  run: string | null,
  reason: string | null,
  showToast: ShowToast,
): readonly [Controls, TokenPrompt] => {
  const [pending, setPending] = useState(false);
  const [question, setQuestion] = useState<"closed" | "open" | "wrong">("closed");
  const waiting = useRef<Control | null>(null);
  const askForToken = (control: Control, why: "open" | "wrong"): void => {
    waiting.current = control;
    setQuestion(why);
  };
  const ask = async (control: Control): Promise<void> => {
    if (run === null) return;
    const storedToken = token.read();
    if (storedToken === null) return askForToken(control, "open");
    setPending(true);
    try {
      await api.control(run, storedToken, control);
      showToast("good", doneText(control));
    } catch (cause) {
      if (cause instanceof RequestRefused && (cause.status === 401 || cause.status === 403)) {
        token.forget();
        askForToken(control, "wrong");
      } else showToast("bad", cause instanceof Error ? cause.message : String(cause));
    } finally {
      setPending(false);
    }
  };
  const give = (given: string): void => {
    const control = waiting.current;
    waiting.current = null;
    setQuestion("closed");
    token.keep(given);
    if (control !== null) void ask(control);
  };
  const cancel = (): void => {
    waiting.current = null;
    setQuestion("closed");
  };
  return [
    { reason, pending, ask },
    { open: question !== "closed", wrong: question === "wrong", give, cancel },
  ];
};
