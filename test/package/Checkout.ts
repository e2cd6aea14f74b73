/** A copy of the checkout's files as they are now, without what git ignores: what a user has after `git clone`. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { TemporaryFolder } from "./TemporaryFolder.ts";

const fileNames = (): readonly string[] =>
  execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: packageRoot,
    encoding: "utf8",
  })
    .split("\0")
    .filter((name) => name !== "" && existsSync(join(packageRoot, name)));

export class Checkout extends TemporaryFolder {
  constructor() {
    super("millrace-checkout");
    for (const name of fileNames()) cpSync(join(packageRoot, name), join(this.folder, name));
  }
}
