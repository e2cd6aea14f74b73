/**
 * The arguments of bubblewrap that confine the harness. Pure. The sandbox sees the interpreter's own files, read-only, and
 * nothing else: no /proc, no /dev, no /tmp, no writable place, no network, and constant environment variables.
 *
 * Two modes. `own`: a user namespace, for users who are not root or may not change their user. `dropped`: root makes the other namespaces
 * itself, and the harness then changes to a user id that nothing else uses, so that an escape has no rights on the host either.
 */
import type { Interpreter, Link } from "./Interpreter.ts";

export type Mode = "own" | "dropped";

export const environment: Readonly<Record<string, string>> = {
  // Sets and dictionaries then have one order in every run.
  PYTHONHASHSEED: "0",
  PYTHONUTF8: "1",
  PYTHONDONTWRITEBYTECODE: "1",
};

const within = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Each folder once, and none that lies in another. */
const outermost = (folders: readonly string[]): readonly string[] =>
  [...new Set(folders)].filter((folder) => !folders.some((other) => other !== folder && within(folder, other)));

/** Where `path` leads when the links of the root folder are followed. */
const followed = (path: string, links: readonly Link[]): string => {
  const link = links.find((each) => within(path, each.path));
  return link === undefined ? path : `/${link.target.replace(/^\//, "")}${path.slice(link.path.length)}`;
};

/** The folders above `paths`, outer ones first. */
const above = (paths: readonly string[]): readonly string[] => [
  ...new Set(
    paths.flatMap((path) => {
      const names = path.split("/").slice(1, -1);
      return names.map((_, at) => `/${names.slice(0, at + 1).join("/")}`);
    }),
  ),
];

export interface Confinement {
  readonly mode: Mode;
  readonly interpreter: Interpreter;
  readonly links: readonly Link[];
  /** The harness's file on the host. */
  readonly harness: string;
  /** The user that `dropped` becomes. */
  readonly user: number;
}

/** The descriptor from which bubblewrap reads the seccomp program. */
export const filterDescriptor = 3;

export const confined = ({ harness, interpreter, links, mode, user }: Confinement): readonly string[] => {
  const { executable, libraries, loader, packages, standard } = interpreter;
  const folders = outermost([...standard, ...libraries]);
  const apart = [executable, ...(loader === null ? [] : [followed(loader, links)])].filter(
    (file) => !folders.some((folder) => within(file, folder)),
  );
  return [
    ...["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"],
    ...(mode === "own" ? ["--unshare-user", "--uid", "65534", "--gid", "65534"] : []),
    ...["--die-with-parent", "--new-session", "--hostname", "sandbox", "--clearenv"],
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--cap-drop", "ALL"],
    ...(mode === "dropped" ? ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] : []),
    // Made here so that every user may pass; bubblewrap would make missing folders for its own user alone.
    ...above([...folders, ...apart]).flatMap((folder) => ["--perms", "0755", "--dir", folder]),
    ...folders.flatMap((folder) => ["--ro-bind", folder, folder]),
    ...packages.flatMap((folder) => ["--tmpfs", folder, "--remount-ro", folder]),
    ...apart.flatMap((file) => ["--ro-bind", file, file]),
    ...links.flatMap(({ path, target }) => ["--symlink", target, path]),
    ...["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind", harness, "/harness.py"],
    ...["--remount-ro", "/", "--chdir", "/", "--seccomp", String(filterDescriptor)],
    ...["--", executable, "-s", "-S", "-B", "/harness.py", ...(mode === "dropped" ? [String(user)] : [])],
  ];
};
