/**
 * `env_config` of WebShop. The keys of the shop itself are RAGEN's and are sent to the server, which has the shop and its goals, with every
 * reset. Where the number of goals is known, the goal of a seed is chosen here, by RAGEN's rule.
 */
import { Schema } from "effect";
import { count, field, positive, whole } from "../../../config/field.ts";
import { connection } from "../../openenv/Connection.ts";
import { heldOut } from "./goals.ts";

const Goals = count.check(
  Schema.makeFilter((goals) => goals === 0 || goals > heldOut, { expected: `0 or an integer above ${heldOut}` }),
);

export const WebShopConfig = Schema.Struct({
  ...connection("http://127.0.0.1:8001"),
  dataset: field(Schema.Literals(["small", "full"]), "small", "Products of the shop: a thousand, or all."),
  observation_mode: field(Schema.Literals(["text"]), "text", "How a page is shown; only text."),
  human_goals: field(Schema.Boolean, false, "Goals written by people instead of synthetic ones."),
  limit_goals: field(
    Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 1_000_000_000 })),
    -1,
    "So many goals at most; -1 all.",
  ),
  num_products: field(Schema.NullOr(positive), null, "Products a search goes through; null all."),
  show_attrs: field(Schema.Boolean, false, "Whether pages show the products' attributes."),
  goals: field(
    Goals,
    0,
    "Goals of the shop, for choosing them here as RAGEN does; 0: the server chooses by seed and split.",
  ),
  eval_goals: field(
    Schema.Literals(["val", "test"]),
    "val",
    "Which goals validation plays: RAGEN's thousand of val, or its five hundred of test.",
  ),
  action_limit: field(whole(1, 1_000_000), 10, "Actions the advice on each page speaks of."),
});
export type WebShopConfig = typeof WebShopConfig.Type;
