/**
 * The console sink for a terminal: one status block, redrawn in place at most once per refresh, by cursor moves inside one synchronised
 * write so that nothing flickers. Invariants: lines never wrap, the last state stays
 * on the screen, the cursor is restored.
 */
import { Effect, Fiber, Latch } from "effect";
import { blockLines, type Line, type Style, widthOf } from "./Block.ts";
import { once, type Sink, type SinkError, type Update } from "./Sink.ts";
import { checkUsable, type Terminal } from "./Terminal.ts";
import { initialView, updateView, type View } from "./View.ts";

const codes: Readonly<Record<Style, string>> = {
  plain: "",
  strong: "\x1b[1m",
  dim: "\x1b[2m",
  good: "\x1b[32m",
  warn: "\x1b[33m",
  bad: "\x1b[31m",
  accent: "\x1b[36m",
};

const paint = (line: Line, colour: boolean): string =>
  line.map(({ text, style }) => (colour && codes[style] !== "" ? `${codes[style]}${text}\x1b[0m` : text)).join("");

/** Draws views over each other; remembers how far up the last one starts. */
const painter = (terminal: Terminal) => {
  let drawn: readonly number[] = [];
  return (view: View): void => {
    const { colour, unicode } = terminal;
    const columns = terminal.columns();
    // The block never outgrows the screen: what scrolled off could not be redrawn.
    const frame = blockLines(view, { columns, unicode }).slice(0, Math.max(1, terminal.rows() - 1));
    // A terminal made narrower has wrapped the lines on the screen.
    const up = drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    drawn = frame.map(widthOf);
    const home = up > 0 ? `\x1b[${up}A\r` : "\r";
    const body = frame.map((line) => `${paint(line, colour)}\x1b[K\n`).join("");
    terminal.write(`\x1b[?2026h${home}${body}\x1b[J\x1b[?2026l`);
  };
};

export interface LiveOptions {
  readonly terminal: Terminal;
  /** Shortest time between two frames, milliseconds. */
  readonly refreshMs: number;
}

export const make = ({ terminal, refreshMs }: LiveOptions): Sink => {
  const draw = painter(terminal);
  /** Open while the newest view is not drawn. */
  const isOutdated = Latch.makeUnsafe(false);
  let view: View | null = null;
  let drawing: Fiber.Fiber<never> | null = null;
  const drawNewest = Effect.sync(() => {
    isOutdated.closeUnsafe();
    if (view !== null) draw(view);
  });
  const keepDrawn = Effect.forever(
    isOutdated.await.pipe(Effect.andThen(drawNewest), Effect.andThen(Effect.sleep(refreshMs))),
  );
  const show = (next: Update): Effect.Effect<void, SinkError> =>
    Effect.andThen(
      checkUsable(terminal),
      Effect.sync(() => {
        if (view === null) return;
        view = updateView(view, next);
        isOutdated.openUnsafe();
      }),
    );
  return {
    name: "console",
    essential: false,
    feeding: { retry: once },
    open: (run) =>
      Effect.gen(function* () {
        terminal.hideCursor();
        view = initialView(run);
        draw(view);
        drawing = yield* Effect.forkDetach(keepDrawn);
      }),
    step: (record) => show({ _tag: "Step", record }),
    gauges: (sample) => show({ _tag: "Sample", sample }),
    event: (event) => show({ _tag: "Event", event }),
    close: (outcome) =>
      Effect.gen(function* () {
        if (drawing !== null) yield* Fiber.interrupt(drawing);
        if (view === null) return;
        draw(updateView(view, { _tag: "Close", outcome }));
        terminal.showCursor();
        view = null;
      }),
  };
};
