/** A house of one room that speaks OpenEnv: a book on a desk, to be put on the bed, and an engine that ends a game after six steps. */
import type { WebSocket } from "ws";
import { observe, type StandIn, standIn } from "../../openenv/standIn.ts";

interface Game {
  readonly number: number;
  held: boolean;
  steps: number;
}

export interface House extends StandIn {
  readonly resets: () => readonly Record<string, unknown>[];
}

const mostSteps = 6;
/** Games of each set. */
const games: Readonly<Record<string, number>> = { train: 5, eval_in_distribution: 3, eval_out_of_distribution: 2 };

const admissible = ({ held }: Game): readonly string[] => [
  "look",
  "inventory",
  held ? "move book 1 to bed 1" : "take book 1 from desk 1",
];

const act = (game: Game, action: string): { readonly text: string; readonly won: boolean } => {
  if (!admissible(game).includes(action)) return { text: "Nothing happens.", won: false };
  switch (action) {
    case "take book 1 from desk 1":
      game.held = true;
      return { text: "You pick up the book 1 from the desk 1.", won: false };
    case "move book 1 to bed 1":
      return { text: "You move the book 1 to the bed 1.", won: true };
    default:
      return { text: "You are in the middle of a room.", won: false };
  }
};

export const house = async (): Promise<House> => {
  const gameBySocket = new Map<WebSocket, Game>();
  const resets: Record<string, unknown>[] = [];
  const server = await standIn({
    hear: (socket, { data, type }) => {
      if (type === "reset") {
        resets.push(data);
        const number = Number(data.seed) % games[String(data.split)]!;
        const game: Game = { number, held: false, steps: 0 };
        gameBySocket.set(socket, game);
        const text = `You are in room ${number} of ${data.split}.\n\nYour task is to: put the book on the bed.`;
        return observe(socket, { text, admissible_commands: admissible(game), won: false });
      }
      const game = gameBySocket.get(socket)!;
      const { text, won } = act(game, String(data.action));
      game.steps++;
      const done = won || game.steps >= mostSteps;
      observe(socket, { text, admissible_commands: admissible(game), won }, Number(won), done);
    },
  });
  return { ...server, resets: () => resets };
};
