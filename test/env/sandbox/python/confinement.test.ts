/** The command line of the sandbox. */
import { describe, expect, it } from "vitest";
import { bubblewrapArgs, type Confinement } from "../../../../src/env/sandbox/python/confinement.ts";
import type { Interpreter } from "../../../../src/env/sandbox/python/Interpreter.ts";

const interpreter: Interpreter = {
  version: [3, 11, 2],
  executable: "/usr/bin/python3.11",
  standard: ["/usr/lib/python3.11"],
  libraries: ["/usr/lib/x86_64-linux-gnu", "/usr/lib/python3.11/lib-dynload"],
  loader: "/lib64/ld-linux-x86-64.so.2",
  packages: ["/usr/lib/python3.11/site-packages"],
};
const isolated: Confinement = {
  mode: "own",
  interpreter,
  links: [
    { path: "/lib", target: "usr/lib" },
    { path: "/lib64", target: "usr/lib64" },
  ],
  harness: "/code/harness.py",
  user: 77,
};
const dropped: Confinement = { ...isolated, mode: "dropped" };

/** The arguments after each occurrence of an option. */
const following = (args: readonly string[], option: string, count: number): readonly (readonly string[])[] =>
  args.flatMap((arg, at) => (arg === option ? [args.slice(at + 1, at + 1 + count)] : []));

describe("the sandbox", () => {
  it("has every namespace of its own, dies with its parent and keeps no variable", () => {
    for (const confinement of [isolated, dropped]) {
      expect(bubblewrapArgs(confinement)).toEqual(
        expect.arrayContaining([
          "--unshare-net",
          "--unshare-pid",
          "--unshare-ipc",
          "--unshare-uts",
          "--die-with-parent",
        ]),
      );
      expect(bubblewrapArgs(confinement)).toEqual(expect.arrayContaining(["--new-session", "--clearenv", "--seccomp"]));
    }
  });

  it("sees the interpreter, its libraries and the harness, read-only, and each folder once", () => {
    expect(following(bubblewrapArgs(isolated), "--ro-bind", 2).map(([from, to]) => [from, to])).toEqual([
      ["/usr/lib/python3.11", "/usr/lib/python3.11"],
      ["/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"],
      ["/usr/bin/python3.11", "/usr/bin/python3.11"],
      ["/usr/lib64/ld-linux-x86-64.so.2", "/usr/lib64/ld-linux-x86-64.so.2"],
      ["/code/harness.py", "/harness.py"],
    ]);
  });

  it("mounts nothing that can be written: what is mounted fresh is closed again", () => {
    for (const confinement of [isolated, dropped]) {
      const args = bubblewrapArgs(confinement);
      expect(args.filter((arg) => ["--bind", "--dev-bind", "--dev", "--proc"].includes(arg))).toEqual([]);
      const closed = following(args, "--remount-ro", 1).flat();
      expect(closed).toEqual(expect.arrayContaining([...following(args, "--tmpfs", 1).flat(), "/"]));
    }
  });

  it("hides installed packages", () => {
    expect(following(bubblewrapArgs(isolated), "--tmpfs", 1)).toEqual([["/usr/lib/python3.11/site-packages"]]);
  });

  it("names libraries by the host's links", () => {
    expect(following(bubblewrapArgs(isolated), "--symlink", 2)).toEqual([
      ["usr/lib", "/lib"],
      ["usr/lib64", "/lib64"],
    ]);
  });

  it("lets everyone pass the folders above", () => {
    const folders = following(bubblewrapArgs(dropped), "--dir", 1).flat();
    expect(folders).toEqual(["/usr", "/usr/lib", "/usr/bin", "/usr/lib64"]);
    expect(following(bubblewrapArgs(dropped), "--perms", 1).flat()).toEqual(folders.map(() => "0755"));
  });

  it("is a user of its own namespace, or root that keeps nothing but becoming someone else", () => {
    const mine = bubblewrapArgs(isolated);
    expect(mine).toContain("--unshare-user");
    expect(following(mine, "--cap-add", 1)).toEqual([]);
    expect(mine.at(-1)).toBe("/harness.py");
    const root = bubblewrapArgs(dropped);
    expect(root).not.toContain("--unshare-user");
    expect(following(root, "--cap-add", 1).flat()).toEqual(["CAP_SETUID", "CAP_SETGID"]);
    expect(root.at(-1)).toBe("77");
    for (const args of [mine, root]) expect(following(args, "--cap-drop", 1)).toEqual([["ALL"]]);
  });
});
