/** Submissions that try to get out: to the network, to files, to other processes, to more of the machine than they are given. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modes, openHarness, processes, roomy, type SandboxHarness, statusesOf } from "./sandbox.ts";

/** Python: what of `attempts`, a list of (name, function), does not raise. */
const through = `
def through(attempts):
    done = []
    for name, attempt in attempts:
        try:
            attempt()
            done.append(name)
        except BaseException as error:
            if not isinstance(error, (OSError, ImportError, AttributeError, RuntimeError, ValueError)):
                done.append(name + ": " + repr(error))
    return done
`;

const root = fileURLToPath(new URL("../../..", import.meta.url));
const secret = "s3cret-of-the-host";

describe.each(modes)("in a sandbox confined by %s", (mode) => {
  let is: SandboxHarness;
  let folder = "";
  beforeAll(async () => {
    process.env.SANDBOX_TEST_SECRET = secret;
    folder = mkdtempSync(join(tmpdir(), "sandbox-"));
    writeFileSync(join(folder, "secret"), secret, { mode: 0o644 });
    is = await openHarness(mode);
  });
  afterAll(() => {
    delete process.env.SANDBOX_TEST_SECRET;
    rmSync(folder, { recursive: true });
  });

  describe("the network", () => {
    it("is not reached, nor is this machine", async () => {
      const server = createServer().listen(0, "127.0.0.1");
      let visits = 0;
      server.on("connection", () => visits++);
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as { readonly port: number };
      const code = `${through}
import socket, urllib.request
def f():
    return through([
        ("connect", lambda: socket.create_connection(("127.0.0.1", ${port}), 2)),
        ("out", lambda: socket.create_connection(("1.1.1.1", 53), 2)),
        ("name", lambda: socket.getaddrinfo("example.com", 80)),
        ("http", lambda: urllib.request.urlopen("http://127.0.0.1:${port}", timeout=2)),
        ("unix", lambda: socket.socket(socket.AF_UNIX)),
        ("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
        ("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)),
        ("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
    ])`;
      expect(await is.value(code)).toEqual([]);
      expect(visits).toBe(0);
      server.close();
    });
  });

  describe("files", () => {
    it("hold the interpreter and its libraries, and nothing of the host", async () => {
      const code = `
import os, sys
def f():
    tops = sorted(os.listdir("/"))
    extra = []
    for folder, folders, files in os.walk("/"):
        for name in files:
            path = os.path.join(folder, name)
            if not any(part in path for part in ("/lib/", "/lib64/", "/lib32/", "/bin/python", "/harness.py", "ld.so.cache")):
                extra.append(path)
    return [tops, extra[:20]]`;
      const [tops, extra] = (await is.value(code)) as [string[], string[]];
      expect(extra).toEqual([]);
      for (const name of ["proc", "sys", "dev", "tmp", "var", "home", "boot", "mnt", "run"]) {
        expect(tops).not.toContain(name);
      }
    });

    it("of the host are not there to be read: accounts, secrets, the repository, the process", async () => {
      const paths = [
        ...[
          "/etc/passwd",
          "/etc/shadow",
          "/etc/hostname",
          "/etc/resolv.conf",
          "/root/.ssh",
          "/root/.bashrc",
          "/root/.npmrc",
        ],
        ...["/proc/self/environ", "/proc/1/environ", "/proc/1/root/etc/passwd", "/proc/kcore", "/proc/version"],
        ...["/sys/class/net", "/dev/mem", "/dev/sda", "/dev/kmsg", "/dev/null", "/var/run/docker.sock"],
        ...[join(root, "package.json"), join(root, ".git/config"), process.execPath, dirname(root)],
        ...[join(folder, "secret"), folder, process.env.HOME ?? "/root"].filter((path) => path !== "/root"),
      ];
      const code = `
import os
def f():
    return [path for path in ${JSON.stringify(paths)} if os.path.exists(path)]`;
      expect(await is.value(code)).toEqual([]);
    });

    it("are reached by no link and no way up", async () => {
      const code = `${through}
import os
def f():
    target = ${JSON.stringify(join(folder, "secret"))}
    return through([
        ("up", lambda: open("/../../../.." + target)),
        ("link", lambda: os.symlink(target, "/link")),
        ("hard link", lambda: os.link("/harness.py", "/link")),
        ("chroot", lambda: os.chroot("/usr")),
        ("descriptors", lambda: [os.listdir("/proc/self/fd")]),
        ("by handle", lambda: os.open("/", os.O_DIRECTORY | os.O_RDWR)),
        ("old root", lambda: os.listdir("/oldroot")),
        ("new root", lambda: os.listdir("/newroot")),
    ])`;
      expect(await is.value(code)).toEqual([]);
    });

    it("are written nowhere", async () => {
      const mark = join(folder, "mark");
      const code = `${through}
import os, sys, tempfile, shutil
def f():
    places = ["/", "/tmp", "/usr/lib", os.path.dirname(os.__file__), os.path.dirname(sys.executable), "/dev/shm", ${JSON.stringify(folder)}]
    attempts = [("create in " + place, lambda place=place: open(place + "/mark", "w")) for place in places]
    attempts += [("make " + place, lambda place=place: os.mkdir(place + "/made")) for place in places]
    return through(attempts + [
        ("overwrite the library", lambda: open(os.__file__, "r+")),
        ("overwrite the harness", lambda: open("/harness.py", "r+")),
        ("remove", lambda: os.remove(os.__file__)),
        ("rename", lambda: os.rename("/harness.py", "/other.py")),
        ("mode", lambda: os.chmod("/harness.py", 0o777)),
        ("owner", lambda: os.chown("/harness.py", os.getuid(), -1)),
        ("times", lambda: os.utime("/harness.py")),
        ("temporary", lambda: tempfile.TemporaryFile()),
        ("truncate", lambda: os.truncate("/harness.py", 0)),
    ])`;
      expect(await is.value(code)).toEqual([]);
      expect(existsSync(mark)).toBe(false);
    });

    it("are not mounted, and nothing is remounted", async () => {
      const code = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def f():
    return [
        libc.mount(b"none", b"/usr", b"tmpfs", 0, None),
        libc.mount(None, b"/", None, 32 | 4096, None),
        libc.umount2(b"/usr", 2),
        libc.unshare(0x10000000),
        libc.unshare(0x20000),
        libc.syscall(155, b"/", b"/"),
        libc.setns(0, 0),
    ]`;
      expect(new Set((await is.value(code)) as number[])).toEqual(new Set([-1]));
    });
  });

  describe("what it is told", () => {
    it("is no variable of the host, no host name, no user", async () => {
      const code = `
import os, socket
def f():
    return [sorted(os.environ), os.uname().nodename, os.getcwd(), os.getuid() == 0, os.getgroups() in ([], [os.getgid()], [65534])]`;
      const [names, host, folder, isRoot, noGroups] = (await is.value(code)) as [
        string[],
        string,
        string,
        boolean,
        boolean,
      ];
      expect(names.filter((name) => !/^PYTHON|^PWD$|^LC_CTYPE$/.test(name))).toEqual([]);
      expect([host, folder, isRoot, noGroups]).toEqual(["sandbox", "/", false, true]);
    });

    it("is no expected output, and no descriptor but its own", async () => {
      const code = `
import gc, os
def f():
    opened = []
    for descriptor in range(0, 64):
        try:
            os.fstat(descriptor)
            opened.append(descriptor)
        except OSError:
            pass
    return opened`;
      expect(await is.value(code)).toEqual([0, 1, 2, 4]);
    });

    it("is no package of the host", async () => {
      const code = `
import importlib.util, sys
def f():
    return [name for name in ("pip", "setuptools", "numpy", "site", "yaml") if name in sys.modules or (name != "site" and importlib.util.find_spec(name))]`;
      expect(await is.value(code)).toEqual([]);
    });
  });

  describe("privileges", () => {
    it("are none, and none are to be had", async () => {
      const code = `${through}
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def f():
    return [libc.prctl(39, 0, 0, 0, 0), through([
        ("root", lambda: os.setuid(0)),
        ("group", lambda: os.setgid(0)),
        ("groups", lambda: os.setgroups([0])),
        ("all", lambda: os.setresuid(0, 0, 0)),
        ("nice", lambda: os.nice(-5)),
        ("host name", lambda: __import__("socket").sethostname("x")),
    ])]`;
      // 1: no new privileges, whatever runs.
      expect(await is.value(code)).toEqual([1, []]);
    });

    it("of the kernel's wider interfaces are refused", async () => {
      const numbers = {
        ptrace: 101,
        keyctl: 250,
        bpf: 321,
        perf: 298,
        userfaultfd: 323,
        uring: 425,
        aio: 206,
        ldt: 154,
        kexec: 246,
        memfd: 319,
      };
      if (process.arch !== "x64") return expect(process.arch).toBe("arm64");
      const code = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number):
    ctypes.set_errno(0)
    return [libc.syscall(number, 0, 0, 0, 0, 0), ctypes.get_errno()]
def f():
    return [call(number) for number in ${JSON.stringify(Object.values(numbers))}]`;
      expect(await is.value(code)).toEqual(Object.values(numbers).map(() => [-1, 1]));
    });
  });

  describe("other processes", () => {
    it("are not started, by any way there is", async () => {
      const code = `${through}
import ctypes, multiprocessing, os, pty, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def checked(result):
    if result == -1:
        raise OSError()
    if result == 0:
        os._exit(0)
def f():
    return through([
        ("fork", os.fork),
        ("forkpty", os.forkpty),
        ("exec", lambda: os.execv(sys.executable, [sys.executable, "-c", "print(1)"])),
        ("spawn", lambda: os.posix_spawn(sys.executable, [sys.executable], {})),
        ("system", lambda: os.system("true") and (_ for _ in ()).throw(OSError())),
        ("subprocess", lambda: subprocess.run([sys.executable, "-c", "1"])),
        ("multiprocessing", lambda: multiprocessing.Process(target=print).start()),
        ("libc fork", lambda: checked(libc.fork())),
        ("libc vfork", lambda: checked(libc.syscall(${process.arch === "x64" ? 58 : 435}))),
        ("clone", lambda: checked(libc.syscall(${process.arch === "x64" ? 56 : 220}, 17, 0, 0, 0, 0))),
        ("clone3", lambda: checked(libc.syscall(435, 0, 0))),
    ])`;
      expect(await is.value(code)).toEqual([]);
    });

    it("are not signalled, traced, read, slowed or limited: not the one that runs the tests, nor all", async () => {
      const code = `${through}
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
def checked(result):
    if result == -1:
        raise OSError()
def f(x):
    return [x, through([
        ("parent", lambda: os.kill(os.getppid(), signal.SIGKILL)),
        ("first", lambda: os.kill(1, signal.SIGKILL)),
        ("all", lambda: os.kill(-1, signal.SIGKILL)),
        ("group", lambda: os.killpg(0, signal.SIGKILL)),
        ("thread of the parent", lambda: checked(libc.syscall(${process.arch === "x64" ? 234 : 131}, os.getppid(), os.getppid(), 9))),
        ("queued", lambda: checked(libc.sigqueue(os.getppid(), 9, 0))),
        ("by descriptor", lambda: signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)),
        ("attach", lambda: checked(libc.ptrace(16, os.getppid(), 0, 0))),
        ("read", lambda: checked(libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0))),
        ("priority", lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)),
        ("scheduler", lambda: os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))),
        ("processors", lambda: os.sched_setaffinity(os.getppid(), {0})),
        ("limit", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))),
    ])]`;
      expect(await is.value(code, { inputs: ["[1]", "[2]"] })).toEqual([1, []]);
      expect((await is.ends(code, { inputs: ["[1]", "[2]"] })).at(1)).toBe("[2, []]");
    });

    it("of the host stay as many as they were after a fork bomb", async () => {
      const code = `
import _thread, os, threading
def f():
    forks = 0
    for _ in range(10_000):
        try:
            if os.fork() == 0:
                while True: pass
            forks += 1
        except OSError:
            pass
    threads = 0
    try:
        threading.stack_size(65536)
        for _ in range(10_000):
            # Not Thread.start, which waits forever for a thread that finds no memory to begin in.
            _thread.start_new_thread(threading.Event().wait, ())
            threads += 1
    except (RuntimeError, MemoryError):
        pass
    os.write(4, str([forks, threads]).encode())
    os._exit(0)`;
      const [forks, threads] = (await is.value(code)) as [number, number];
      expect(forks).toBe(0);
      // The kernel counts no processes of root's, by whatever name; there the memory of their stacks is the bound.
      expect(threads).toBeLessThan(mode === "own" && process.getuid?.() === 0 ? 8192 : 70);
      await expect.poll(() => processes("/harness.py"), { timeout: 20_000 }).toEqual([]);
    });
  });

  describe("limits", () => {
    const short = { ...roomy, testMs: 700 };

    it.each([
      ["a loop", "while True: pass"],
      [
        "a loop that catches everything",
        "while True:\n        try:\n            while True: pass\n        except BaseException: pass",
      ],
      ["a loop that nothing interrupts", "sum(iter(int, 1))"],
      ["a pattern", "import re; re.match('(a+)+$', 'a' * 40 + 'b')"],
      ["a power", "len(str(7 ** 10_000_000))"],
      [
        "many threads",
        "import threading\n    for _ in range(8): threading.Thread(target=lambda: sum(iter(int, 1)), daemon=True).start()\n    sum(iter(int, 1))",
      ],
      ["sleep", "import time; time.sleep(1000)"],
      [
        "sleep behind a deaf ear",
        "import signal, time\n    for n in range(1, 32):\n        try: signal.signal(n, signal.SIG_IGN)\n        except (OSError, ValueError): pass\n    time.sleep(1000)",
      ],
      ["waiting", "import threading; threading.Event().wait()"],
    ])("end %s, and the next test runs", async (_name, body) => {
      const code = `def f(x):\n    if x: return "done"\n    ${body}`;
      expect(await is.ends(code, { inputs: ["[0]", "[1]"], limits: short })).toEqual(["timeout", '"done"']);
    });

    it("end what is left over when the time of all is over", async () => {
      const begun = performance.now();
      const keys = { inputs: Array(40).fill("[]"), limits: { ...short, totalMs: 1500 } };
      expect(new Set(await is.ends("def f():\n    while True: pass", keys))).toEqual(new Set(["timeout"]));
      expect(performance.now() - begun).toBeLessThan(60_000);
      await expect.poll(() => processes("/harness.py"), { timeout: 20_000 }).toEqual([]);
    });

    it.each([
      ["a list", "x = []\n    while True: x.append(bytes(1 << 20))"],
      ["one block", "bytearray(1 << 32)"],
      ["a mapping", "import mmap; mmap.mmap(-1, 1 << 31)"],
      ["a text", "x = 'x'\n    while True: x += x"],
    ])("refuse memory: %s", async (_name, body) => {
      const [reason] = await is.ends(`def f():\n    ${body}`, { limits: { ...roomy, memoryBytes: 128 << 20 } });
      expect(["memory", "error"]).toContain(reason);
    });

    it("stay as they are: no hard limit is raised", async () => {
      const code = `${through}
import resource
def f():
    names = ["RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_CORE"]
    most = resource.RLIM_INFINITY
    return [
        [resource.getrlimit(getattr(resource, name))[1] for name in names],
        through([(name, lambda name=name: resource.setrlimit(getattr(resource, name), (most, most))) for name in names]),
    ]`;
      expect(await is.value(code)).toEqual([[256 << 20, 22, 0, 64, 64, 0], []]);
    });

    it("hold for huge pages: a submission has none", async () => {
      const asleep = is.ends("import time\ndef f():\n    time.sleep(1000)", { limits: { ...roomy, testMs: 1_000 } });
      await expect
        .poll(() => statusesOf("/harness.py"), { interval: 20 })
        .toContainEqual(expect.stringMatching(/THP_enabled:\s*0/));
      expect(await asleep).toEqual(["timeout"]);
    });

    it.each([
      ["lines", "while True: print('x' * 100)"],
      ["one line", "print('x' * 10**7)"],
      ["bytes to the descriptor", "import os\nwhile True: os.write(1, b'x' * 65536)"],
    ])("bound what is printed: %s", async (_name, code) => {
      expect(await is.ends(code, { entry: null, inputs: [""] })).toEqual(["output"]);
    });

    it("bound a result", async () => {
      expect(await is.ends("def f(): return 'x' * 10**7")).toEqual(["output"]);
      expect(await is.ends("import os\ndef f():\n    while True: os.write(4, b'1' * 65536)")).toEqual(["output"]);
    });

    it("do not count what is said on standard error", async () => {
      const code = "import sys\nfor _ in range(3000): sys.stderr.write('x' * 1000)\nprint('done')";
      expect(await is.printed(code)).toBe("done\n");
    });
  });

  describe("a verdict", () => {
    it("is not to be had by leaving early, or by a result of one's own making", async () => {
      expect(await is.ends("import os\nos._exit(0)")).toEqual([""]);
      expect(await is.ends("import os\ndef f(): os._exit(7)")).toEqual(["error"]);
      expect(await is.ends("import os\nos.write(3, b'u'); os.write(4, b'forged')\nos._exit(0)")).toEqual(["error"]);
    });

    it("is never that of a broken sandbox: what breaks its own test fails it", async () => {
      for (const body of [
        "import ctypes; ctypes.string_at(0)",
        "import os; os.abort()",
        "import sys; sys.setrecursionlimit(10**9); g = lambda n: g(n + 1) + 1; g(0)",
        "import os; os.closerange(0, 64)",
        "import os, sys; sys.modules.clear()",
        "import builtins; builtins.__dict__.clear()",
        "import json; json.dumps = None",
      ]) {
        const [end] = await is.ends(`def f():\n    ${body}`);
        expect(["error", "memory", "timeout", "null", ""]).toContain(end);
      }
    });

    it("of code that does not compile says so, and no test is run", async () => {
      for (const code of ["def f(:", "f = '\0'", "return 1", "(".repeat(5000), `${"-".repeat(200_000)}1`]) {
        const answer = await is.report(code);
        const failedTest = answer._tag === "Ran" && answer.outcomes.every(({ _tag }) => _tag === "Failed");
        expect(answer._tag === "Uncompilable" || failedTest).toBe(true);
      }
    });
  });
});
