/** JSON that a model wrote, which may be none. */
import { Option } from "effect";

/** The value of `text`; none where it is no JSON. */
export const parseJson = (text: string): Option.Option<unknown> =>
  Option.liftThrowable((json: string): unknown => JSON.parse(json))(text);
