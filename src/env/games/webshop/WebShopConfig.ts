/**
 * `env_config` of WebShop. The keys of the shop itself are RAGEN's; every reset sends them to the server, which has the shop and its goals.
 * If `goals` gives the number of goals, RAGEN's rule chooses the goal of a seed here.
 */
import { Schema } from "effect";
import { count, field, positive, whole } from "../../../config/field.ts";
import { connectionKeys } from "../../openenv/Connection.ts";
import { heldOut } from "./goals.ts";

const Goals = count.check(
  Schema.makeFilter((goals) => goals === 0 || goals > heldOut, { expected: `0 or an integer above ${heldOut}` }),
);

export const WebShopConfig = Schema.Struct({
  ...connectionKeys("http://127.0.0.1:8001"),
  dataset: field(Schema.Literals(["small", "full"]), "small", "Products of the shop: small has a thousand, full all."),
  observation_mode: field(Schema.Literals(["text"]), "text", "Form of a page's observation; only text."),
  human_goals: field(Schema.Boolean, false, "If true, goals are written by people; if false, they are synthetic."),
  limit_goals: field(
    Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 1_000_000_000 })),
    -1,
    "The most goals that the shop uses; -1 uses all.",
  ),
  num_products: field(Schema.NullOr(positive), null, "Products that a search goes through; null searches all."),
  show_attrs: field(Schema.Boolean, false, "If true, pages show the products' attributes."),
  goals: field(
    Goals,
    0,
    "Number of the shop's goals, by which the goal of a seed is chosen as in RAGEN; 0 leaves the choice to the server.",
  ),
  eval_goals: field(
    Schema.Literals(["val", "test"]),
    "val",
    "Goals that validation plays: RAGEN's thousand of val, or its five hundred of test.",
  ),
  action_limit: field(whole(1, 1_000_000), 10, "Number of actions that the advice on each page speaks of."),
});
export type WebShopConfig = typeof WebShopConfig.Type;
