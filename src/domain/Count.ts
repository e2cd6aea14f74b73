/** A number of things in an encoded state: an integer from 0 on, small enough that sums of a few are exact. */
import { Schema } from "effect";

export const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 50 }));
