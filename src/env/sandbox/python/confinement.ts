/**
 * The arguments of bubblewrap that confine the harness. The sandbox sees the interpreter's files, read-only, and nothing else: no /proc, no
 * /dev, no /tmp, no writable place and no network. Its environment variables are constant. The mode `own` is a user namespace, for users
 * who are not root or may not change their user. In the mode `dropped` root makes the other namespaces. The harness then changes to a user id
 * that nothing else uses, so that an escape has no rights on the host either.
 */
import type { Interpreter, RootLink } from "./Interpreter.ts";

export type ConfinementMode = "own" | "dropped";

export const environmentVariables: Readonly<Record<string, string>> = {
  // A fixed hash seed gives sets and dictionaries one order in every run.
  PYTHONHASHSEED: "0",
  PYTHONUTF8: "1",
  PYTHONDONTWRITEBYTECODE: "1",
};

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Each folder once, and none that lies in another. */
const outermost = (folders: readonly string[]): readonly string[] =>
  [...new Set(folders)].filter((folder) => !folders.some((other) => other !== folder && isWithin(folder, other)));

/** Replaces a link of the root folder at the start of `path` by its target. */
const followLinks = (path: string, links: readonly RootLink[]): string => {
  const link = links.find((each) => isWithin(path, each.path));
  return link === undefined ? path : `/${link.target.replace(/^\//, "")}${path.slice(link.path.length)}`;
};

/** The folders above `paths`, outer ones first. */
const parentFolders = (paths: readonly string[]): readonly string[] => [
  ...new Set(
    paths.flatMap((path) => {
      const names = path.split("/").slice(1, -1);
      return names.map((_, at) => `/${names.slice(0, at + 1).join("/")}`);
    }),
  ),
];

export interface Confinement {
  readonly mode: ConfinementMode;
  readonly interpreter: Interpreter;
  readonly links: readonly RootLink[];
  /** The harness's file on the host. */
  readonly harness: string;
  /** The user id that the harness changes to in the mode `dropped`. */
  readonly user: number;
}

/** The descriptor from which bubblewrap reads the seccomp program. */
export const filterDescriptor = 3;

export const bubblewrapArgs = ({ harness, interpreter, links, mode, user }: Confinement): readonly string[] => {
  const { executable, libraries, loader, packages, standard } = interpreter;
  const folders = outermost([...standard, ...libraries]);
  const looseFiles = [executable, ...(loader === null ? [] : [followLinks(loader, links)])].filter(
    (file) => !folders.some((folder) => isWithin(file, folder)),
  );
  return [
    ...["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"],
    ...(mode === "own" ? ["--unshare-user", "--uid", "65534", "--gid", "65534"] : []),
    ...["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"],
    ...Object.entries(environmentVariables).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--cap-drop", "ALL"],
    ...(mode === "dropped" ? ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] : []),
    // Parent folders are made here so that every user may pass; bubblewrap would make them for its own user alone.
    ...parentFolders([...folders, ...looseFiles]).flatMap((folder) => ["--perms", "0755", "--dir", folder]),
    ...folders.flatMap((folder) => ["--ro-bind", folder, folder]),
    ...packages.flatMap((folder) => ["--tmpfs", folder, "--remount-ro", folder]),
    ...looseFiles.flatMap((file) => ["--ro-bind", file, file]),
    ...links.flatMap(({ path, target }) => ["--symlink", target, path]),
    ...["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind", harness, "/harness.py"],
    ...["--remount-ro", "/", "--chdir", "/", "--seccomp", String(filterDescriptor)],
    ...["--", executable, "-s", "-S", "-B", "/harness.py", ...(mode === "dropped" ? [String(user)] : [])],
  ];
};
