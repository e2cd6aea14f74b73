/** The tools of the episode as Zod schemas, by their names, as agents in TypeScript write them. */
import { z } from "zod";

export const schemas = {
  weather: z.object({ city: z.string(), day: z.number().int() }),
  note: z.object({
    text: z.string(),
    places: z.array(z.object({ name: z.string(), share: z.number() })),
    isSure: z.boolean(),
  }),
};
