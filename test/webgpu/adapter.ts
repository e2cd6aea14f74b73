/**
 * A WebGPU adapter for machines without a GPU: SwiftShader, which Debian's chromium carries, behind a Vulkan driver file that names it.
 * Invariant: what is returned is the whole environment that a process needs for it.
 */
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders = ["/usr/lib/chromium", "/usr/lib/chromium-browser", "/opt/google/chrome"];
const library = "libvk_swiftshader.so";

/** Variables for the processes that use it; none where MILLRACE_WEBGPU is `system`, which takes the machine's own adapter. */
export const adapterEnvironment = (): Readonly<Record<string, string>> => {
  if (process.env.MILLRACE_WEBGPU === "system") return {};
  const folder = folders.find((one) => existsSync(join(one, library)));
  if (folder === undefined)
    throw new Error(
      `${library} was not found in ${folders.join(", ")}: install it with \`apt-get install chromium\`, or set MILLRACE_WEBGPU=system to test this machine's own adapter`,
    );
  const runtime = mkdtempSync(join(tmpdir(), "millrace-webgpu-"));
  const driver = join(runtime, "swiftshader.json");
  const description = { library_path: join(folder, library), api_version: "1.0.5" };
  writeFileSync(driver, JSON.stringify({ file_format_version: "1.0.0", ICD: description }));
  const paths = [folder, process.env.LD_LIBRARY_PATH].filter((path) => path !== undefined && path !== "");
  return {
    VK_DRIVER_FILES: driver,
    VK_ICD_FILENAMES: driver,
    XDG_RUNTIME_DIR: runtime,
    // chromium's own Vulkan loader, where the system has none
    LD_LIBRARY_PATH: paths.join(":"),
  };
};

/** The same without any driver: no adapter is found. */
export const noAdapter = (): Readonly<Record<string, string>> => {
  const environment = adapterEnvironment();
  const none = join(tmpdir(), "millrace-no-such-driver.json");
  return { ...environment, VK_DRIVER_FILES: none, VK_ICD_FILENAMES: none };
};
