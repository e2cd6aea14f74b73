/** A folder with nothing but the published package in it: the tarball that `npm pack` makes, installed as a user would. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/support/files/packageRoot.ts";
import { TemporaryFolder } from "./TemporaryFolder.ts";

export class Consumer extends TemporaryFolder {
  constructor() {
    // ONNX Runtime's install script would download: a package cannot switch it off for its consumer.
    super("millrace-consumer", { ONNXRUNTIME_NODE_INSTALL: "skip" });
  }

  /** Packs the checkout and installs the tarball, beside whatever is installed already. */
  installPackage() {
    writeFileSync(join(this.folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const packed = this.mustIn(packageRoot, "npm", "pack", "--silent", "--pack-destination", this.folder).stdout;
    const tarball = packed.trim().split("\n").at(-1) ?? "";
    this.must("npm", "install", "--no-audit", "--no-fund", "--prefer-offline", `./${tarball}`);
  }
}
