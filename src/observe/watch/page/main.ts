/** The page's first module: takes the token out of the address, sets the theme, and draws. */
import { html, render } from "htm/preact";
import { App } from "./App.ts";
import { client } from "./Client.ts";
import * as theme from "./theme.ts";
import * as token from "./token.ts";

token.takeFromAddress();
theme.apply(theme.current());
const place = document.getElementById("app");
if (place !== null) render(html`<${App} api=${client} />`, place);
