/** Attacks on the Python sandbox, one line of a table each: what it does, and how it ends. */
import { type Attack, refused } from "../attacks.ts";
import { flushing, kernelMemory } from "./kernelMemory.ts";

/** The functions with which attacks are written. `tried` gives `"refused"` if every attempt is refused; calls of the C library fail with -1. */
const prelude = `
import ctypes, errno, fcntl, gc, json, os, resource, select, signal, socket, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == "aarch64"
parent = os.getppid()
def checked(outcome):
    if outcome == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return outcome
def call(x64, arm64, *arguments):
    return checked(libc.syscall(arm64 if arm else x64, *arguments))
def tried(*attempts):
    through = []
    for at, attempt in enumerate(attempts):
        try:
            attempt()
        except (OSError, ImportError, AttributeError, RuntimeError, ValueError):
            continue
        through.append(at)
    return "went through: %s" % through if through else "refused"
def found(*places):
    return next((place[place.index("secret-"):][:20] for place in places if "secret-" in place and "found(" not in place), "refused")
`;

const indented = (body: string): string => body.trim().replaceAll(/^/gm, "    ");

export const codeOf = ({ body, program }: Attack): string =>
  program
    ? `${prelude}\nif input() == "2":\n    print("honest")\nelse:\n${indented(body)}\n`
    : `${prelude}\ndef attack():\n${indented(body)}\ndef f(x):\n    return "honest" if x == 2 else attack()\n`;

export const peaceful = 'def f():\n    return "peaceful"';

const wrong = ["error"] as const;
const late = ["timeout"] as const;

/** A pipe whose reader's owner is another process, which is signalled when there is something to read. */
const owning = (owner: string, sign: string) => `
reader, writer = os.pipe()
outcome = tried(lambda: ${owner}, lambda: ${sign})
os.write(writer, b"x")
return outcome`;

const signals: readonly Attack[] = [
  {
    name: "the judge owns a pipe that kills its owner",
    body: owning(
      "fcntl.fcntl(reader, fcntl.F_SETOWN, parent)",
      "(fcntl.fcntl(reader, fcntl.F_SETSIG, signal.SIGKILL), fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC))",
    ),
    ends: refused,
  },
  {
    name: "the judge owns a pipe that interrupts its owner",
    body: owning("fcntl.fcntl(reader, fcntl.F_SETOWN, parent)", "fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)"),
    ends: refused,
  },
  {
    name: "the judge's thread owns a pipe that stops it",
    body: owning(
      "fcntl.fcntl(reader, 15, struct.pack('ii', 0, parent))",
      "(fcntl.fcntl(reader, fcntl.F_SETSIG, signal.SIGSTOP), fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK))",
    ),
    ends: refused,
  },
  {
    name: "the judge's group owns a pipe",
    body: owning(
      "fcntl.fcntl(reader, fcntl.F_SETOWN, -os.getpgid(parent))",
      "fcntl.ioctl(reader, 0x5452, b'\\1\\0\\0\\0')",
    ),
    ends: refused,
  },
  {
    name: "the first process owns a socket",
    body: `
one, other = socket.socketpair()
outcome = tried(
    lambda: fcntl.ioctl(one, 0x8901, struct.pack("i", 1)),
    lambda: fcntl.ioctl(one, 0x8902, struct.pack("i", parent)),
    lambda: fcntl.ioctl(one, 0x5452, struct.pack("i", 1)),
)
other.send(b"x")
return outcome`,
    ends: refused,
  },
  {
    name: "raw calls set the owner",
    body: `
reader, writer = os.pipe()
outcome = tried(
    lambda: call(72, 25, reader, 8, parent),
    lambda: call(72, 25, reader, 10, 9),
    lambda: call(72, 25, reader, ctypes.c_long(0x100000000 | 8), parent),
    lambda: call(72, 25, reader, 4, 0x2000),
    lambda: call(16, 29, reader, 0x5452, ctypes.byref(ctypes.c_int(1))),
)
os.write(writer, b"x")
return outcome`,
    ends: refused,
  },
  {
    name: "a lease on the judge's file",
    body: `file = os.open("/harness.py", os.O_RDONLY)
return tried(lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK), lambda: fcntl.fcntl(file, fcntl.F_SETOWN, parent))`,
    ends: refused,
  },
  {
    name: "a notice about a folder",
    body: `folder = os.open("/", os.O_RDONLY)
return tried(lambda: fcntl.fcntl(folder, fcntl.F_NOTIFY, 0x8000003f))`,
    ends: refused,
  },
  {
    name: "every signal to the judge, to all and to the first process",
    body: `
return tried(*(
    lambda number=number, pid=pid: os.kill(pid, number)
    for number in range(0, 65)
    for pid in (parent, 1, -1, 0, -os.getpgid(parent))
))`,
    ends: refused,
  },
  {
    name: "signals to the judge's thread, by raw calls",
    body: `
info = (ctypes.c_int * 32)(9, 0, -1)
return tried(
    lambda: call(200, 130, parent, 9),
    lambda: call(234, 131, parent, parent, 19),
    lambda: call(129, 138, parent, 9, info),
    lambda: call(297, 240, parent, parent, 9, info),
)`,
    ends: refused,
  },
  {
    name: "a signal through a process descriptor",
    body: `
return tried(lambda: call(434, 434, parent, 0), lambda: call(424, 424, 0, 9, None, 0), lambda: call(448, 448, 0, 0))`,
    ends: refused,
  },
  {
    name: "a timer that signals the judge's thread",
    body: `
event = (ctypes.c_int * 16)(0, 0, 9, 4, parent)
timer = ctypes.c_int()
return tried(lambda: call(222, 107, 1, event, ctypes.byref(timer)))`,
    ends: refused,
  },
  {
    name: "a message queue that notifies",
    body: `return tried(lambda: call(240, 180, b"queue", 0o100 | 2, 0o600, None))`,
    ends: refused,
  },
  {
    name: "the judge in another process group",
    body: `return tried(lambda: os.setpgid(parent, 0), lambda: os.setpgid(1, 1), lambda: os.tcsetpgrp(0, 1))`,
    ends: refused,
  },
  {
    name: "the judge slowed down",
    body: `
return tried(
    lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),
    lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19),
    lambda: os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0)),
    lambda: os.sched_setaffinity(parent, {0}),
    lambda: call(251, 30, 1, parent, 3 << 13),
    lambda: call(314, 274, parent, (ctypes.c_uint32 * 12)(48, 5), 0),
)`,
    ends: refused,
  },
  {
    name: "the judge limited",
    body: `
return tried(
    lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (0, 0)),
    lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)),
    lambda: resource.prlimit(os.getpid(), resource.RLIMIT_CPU, (1000, 1000)),
)`,
    ends: refused,
  },
];

const reaching: readonly Attack[] = [
  {
    name: "tracing the judge",
    body: `return tried(*(lambda request=request: call(101, 117, request, parent, 0, 0) for request in (16, 0x4206)), lambda: call(101, 117, 0, 0, 0, 0))`,
    ends: refused,
  },
  {
    name: "reading and writing the judge's memory",
    body: `
part = (ctypes.c_long * 2)(ctypes.addressof(ctypes.create_string_buffer(64)), 64)
return tried(
    lambda: call(310, 270, parent, part, 1, part, 1, 0),
    lambda: call(311, 271, parent, part, 1, part, 1, 0),
    lambda: open("/proc/%d/mem" % parent, "rb"),
    lambda: open("/proc/self/maps"),
    lambda: call(440, 440, 0, part, 1, 21, 0),
    lambda: call(279, 239, parent, 0, None, None, None, 0),
)`,
    ends: refused,
  },
  {
    name: "taking the judge's descriptors",
    body: `
return tried(
    lambda: call(438, 438, 0, 0, 0),
    lambda: call(312, 272, parent, os.getpid(), 0, 0, 0),
    lambda: os.open("/proc/%d/fd/0" % parent, os.O_RDONLY),
    lambda: os.fstat(5),
    lambda: os.listdir("/dev/fd"),
)`,
    ends: refused,
  },
  {
    name: "memory shared by name",
    body: `
from multiprocessing import shared_memory
return tried(
    lambda: call(29, 194, 0, 4096, 0o1666),
    lambda: call(64, 190, 0, 1, 0o1666),
    lambda: call(68, 186, 0, 0o1666),
    lambda: shared_memory.SharedMemory(create=True, size=16),
    lambda: open("/dev/shm/x", "w"),
    lambda: os.memfd_create("x"),
)`,
    ends: [...refused, ...wrong],
  },
  {
    name: "the kernel's wider interfaces",
    body: `
return tried(
    lambda: call(323, 282, 0),
    lambda: call(298, 241, (ctypes.c_char * 128)(), 0, -1, -1, 0),
    lambda: call(425, 425, 8, (ctypes.c_char * 128)()),
    lambda: call(206, 0, 8, ctypes.byref(ctypes.c_long())),
    lambda: call(321, 280, 5, (ctypes.c_char * 128)(), 128),
    lambda: call(250, 219, 0, -3, 1),
    lambda: call(248, 217, b"user", b"x", b"x", 1, -3),
    lambda: call(135, 92, 0x40000),
    lambda: call(103, 116, 3, None, 0),
)`,
    ends: refused,
  },
  {
    name: "calls that are newer than the filter",
    body: `return tried(*(lambda number=number: call(number, number, 0, 0, 0, 0, 0) for number in range(450, 520)))`,
    ends: refused,
  },
  {
    name: "calls by the numbers of 32 bits",
    body: `
import mmap
if arm: return "refused"
code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b"\\xb8\\x25\\x00\\x00\\x00\\xbb\\x01\\x00\\x00\\x00\\xb9\\x09\\x00\\x00\\x00\\xcd\\x80\\xc3")
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
return "went through: %d" % ctypes.CFUNCTYPE(ctypes.c_int)(address)()`,
    ends: [...refused, ...wrong],
  },
  {
    name: "calls of the x32 interface",
    body: `return tried(*(lambda number=number: call(0x40000000 + number, 0x40000000 + number, 2, 1, 0) for number in (41, 57, 62, 72, 101)))`,
    ends: refused,
  },
  {
    name: "root",
    body: `
return tried(
    lambda: os.setuid(0),
    lambda: os.setresuid(0, 0, 0),
    lambda: os.setgid(0),
    lambda: os.setgroups([0]),
    lambda: checked(libc.prctl(47, 2, 21, 0, 0)),
    lambda: call(126, 91, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)),
)`,
    ends: refused,
  },
  {
    name: "the clock and the host's name set",
    body: `
return tried(
    lambda: time.clock_settime(time.CLOCK_REALTIME, 0),
    lambda: socket.sethostname("mine"),
    lambda: call(164, 170, (ctypes.c_long * 2)(0, 0), None),
    lambda: call(169, 142, 0xfee1dead, 672274793, 0x1234567, 0),
)`,
    ends: refused,
  },
];

const files: readonly Attack[] = [
  {
    name: "files of the host read",
    body: `
paths = ("/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/1/root", "/root/.ssh", "/root/.bashrc", "/home", "/var/run", "/dev/mem", "/sys/class", "/tmp", "/oldroot")
return tried(*(lambda path=path: os.stat(path) for path in paths))`,
    ends: refused,
  },
  {
    name: "files written",
    body: `
places = ("/", "/usr/lib", "/tmp", "/dev/shm", os.path.dirname(os.__file__), os.path.dirname(sys.executable))
return tried(*(lambda place=place: open(place + "/x", "w") for place in places), lambda: open("/harness.py", "r+"), lambda: os.truncate("/harness.py", 0))`,
    ends: refused,
  },
  {
    name: "links and devices made",
    body: `
return tried(
    lambda: os.symlink("/etc/passwd", "/x"),
    lambda: os.link("/harness.py", "/x"),
    lambda: os.mkfifo("/x"),
    lambda: os.mknod("/x", 0o20666, os.makedev(1, 1)),
    lambda: os.rename("/harness.py", "/x"),
    lambda: os.unlink("/harness.py"),
    lambda: os.mkdir("/x"),
)`,
    ends: refused,
  },
  {
    name: "mounts, old and new",
    body: `
return tried(
    lambda: call(165, 40, b"none", b"/", b"tmpfs", 0, None),
    lambda: call(165, 40, None, b"/", None, 32 | 4096, None),
    lambda: call(166, 39, b"/", 2),
    lambda: call(155, 41, b"/", b"/"),
    lambda: call(161, 51, b"/usr"),
    lambda: call(428, 428, -100, b"/", 1),
    lambda: call(429, 429, 0, b"", 0, b"", 4),
    lambda: call(430, 430, b"tmpfs", 0),
    lambda: call(442, 442, -100, b"/", 0, (ctypes.c_long * 4)(), 32),
)`,
    ends: refused,
  },
  {
    name: "namespaces",
    body: `
flags = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
return tried(
    *(lambda flag=flag: call(272, 97, flag) for flag in flags),
    *(lambda flag=flag: call(56, 220, flag | 17, 0, 0, 0, 0) for flag in flags),
    *(lambda flag=flag: call(56, 220, flag | 0x10000, 0, 0, 0, 0) for flag in flags),
    lambda: call(308, 268, 0, 0),
)`,
    ends: refused,
  },
  {
    name: "files by their handles",
    body: `
handle = (ctypes.c_uint32 * 34)(128)
return tried(lambda: call(303, 264, -100, b"/", handle, ctypes.byref(ctypes.c_int()), 0), lambda: call(304, 265, 3, handle, 0))`,
    ends: refused,
  },
  {
    name: "locks on files of the host",
    body: `
file = os.open(os.__file__, os.O_RDONLY)
return tried(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB), lambda: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB), lambda: fcntl.fcntl(file, 37, bytes(32)))`,
    ends: refused,
  },
  {
    name: "watching files of the host",
    body: `return tried(lambda: checked(libc.inotify_init()), lambda: checked(libc.inotify_init1(0)), lambda: call(300, 262, 0, 0))`,
    ends: refused,
  },
  {
    name: "a program in memory",
    body: `return tried(lambda: checked(libc.memfd_create(b"x", 0)), lambda: call(322, 281, 0, b"", (ctypes.c_long * 1)(), (ctypes.c_long * 1)(), 0x1000), lambda: call(447, 447, 0))`,
    ends: refused,
  },
  {
    name: "its input made larger than memory",
    body: `return tried(lambda: os.ftruncate(0, 1 << 30), lambda: os.write(0, b"x" * 65536), lambda: os.posix_fallocate(0, 0, 1 << 30))`,
    ends: refused,
  },
];

const network: readonly Attack[] = [
  {
    name: "connections",
    body: `
return tried(
    lambda: socket.create_connection(("127.0.0.1", 80), 1),
    lambda: socket.create_connection(("1.1.1.1", 53), 1),
    lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
)`,
    ends: refused,
  },
  {
    name: "names",
    body: `return tried(lambda: socket.getaddrinfo("example.com", 80), lambda: socket.gethostbyname("example.com"))`,
    ends: refused,
  },
  {
    name: "sockets of this machine, with and without a name",
    body: `return tried(lambda: socket.socket(socket.AF_UNIX).bind("\\0name"), lambda: socket.socket(socket.AF_UNIX).connect("\\0name"))`,
    ends: refused,
  },
  {
    name: "the kernel's own sockets",
    body: `return tried(*(lambda family=family: socket.socket(family, socket.SOCK_RAW) for family in (16, 17, 38, 40, 44)))`,
    ends: refused,
  },
  {
    name: "pairs of sockets in every family",
    body: `return tried(*(lambda family=family: call(53, 199, family, 1, 0, (ctypes.c_int * 2)()) for family in range(2, 46)))`,
    ends: refused,
  },
];

const processes: readonly Attack[] = [
  {
    name: "a fork bomb",
    body: `
for _ in range(5000):
    try:
        if os.fork() == 0:
            while True: pass
        return "went through"
    except OSError:
        pass
return "refused"`,
    ends: refused,
  },
  {
    name: "processes by raw calls",
    body: `
def child(pid):
    if pid == 0: os._exit(0)
return tried(
    lambda: child(call(57, 220, 17, 0, 0, 0, 0)),
    lambda: child(call(58, 220, 17, 0, 0, 0, 0)),
    lambda: child(call(56, 220, 17, 0, 0, 0, 0)),
    lambda: child(call(56, 220, 0x8000 | 17, 0, 0, 0, 0)),
    lambda: child(call(435, 435, (ctypes.c_long * 11)(), 88)),
)`,
    ends: refused,
  },
  {
    name: "other programs",
    body: `
import subprocess, multiprocessing
return tried(
    lambda: os.execv(sys.executable, [sys.executable, "-c", ""]),
    lambda: subprocess.run([sys.executable, "-c", ""]),
    lambda: multiprocessing.Process(target=print).start(),
    lambda: os.posix_spawn(sys.executable, [sys.executable], {}),
    lambda: os.popen("true").close() is None and (_ for _ in ()).throw(OSError()),
)`,
    ends: refused,
  },
  {
    name: "a daemon of two forks in a session of its own",
    body: `
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(1000)
        os._exit(0)
return tried(daemon)`,
    ends: refused,
  },
  {
    name: "a session of its own, to sleep in",
    body: "os.setsid()\ntime.sleep(1000)",
    ends: late,
  },
  {
    name: "a thread that outlives its function",
    body: `threading.Thread(target=lambda: sum(iter(int, 1))).start()\nreturn "refused"`,
    ends: late,
  },
  {
    name: "threads that wait for one another",
    body: `lock = threading.Lock()\nlock.acquire()\nthreading.Thread(target=lock.acquire).start()\nreturn "refused"`,
    ends: late,
  },
  {
    name: "an exit handler that never ends",
    body: `import atexit\natexit.register(lambda: time.sleep(1000))\nreturn "refused"`,
    ends: late,
  },
];

const forging: readonly Attack[] = [
  {
    name: "a result of its own before the real one",
    body: `os.write(4, b'"forged"')\nreturn "refused"`,
    ends: ['"forged""refused"'],
  },
  { name: "a result of its own and a quick end", body: `os.write(4, b'"forged"')\nos._exit(0)`, ends: ['"forged"'] },
  { name: "an end with status 0 and no result", body: "os._exit(0)", ends: [""] },
  { name: "the result's pipe closed", body: 'os.closerange(0, 64)\nreturn "refused"', ends: wrong },
  {
    name: "the result's pipe filled by a thread",
    body: `
def fill():
    while True: os.write(4, b"1" * 65536)
threading.Thread(target=fill, daemon=True).start()
time.sleep(1000)`,
    ends: ["output"],
  },
  {
    name: "a report on the seal",
    body: `return tried(lambda: os.write(3, b"u"), lambda: os.write(3, b"c forged"))`,
    ends: refused,
  },
  {
    name: "reports in the judge's own words",
    body: `
for at in range(5, 64):
    try: os.write(at, b'{"end": "answered", "text": "forged"}\\n')
    except OSError: pass
os.write(2, b'{"end": "answered", "text": "forged"}\\n')
print('{"end": "answered", "text": "forged"}')
return "refused"`,
    ends: refused,
  },
  {
    name: "the expected output sought in the frames above",
    body: `
frame, seen = sys._getframe(), []
while frame is not None:
    if frame.f_code.co_name != "attack": seen += [repr(value) for name, value in frame.f_locals.items() if name != "job"]
    frame = frame.f_back
return found(*seen)`,
    ends: refused,
  },
  {
    name: "the expected output sought among all objects",
    body: `
texts = [value for container in gc.get_objects() if isinstance(container, (dict, list, tuple)) for value in (container.values() if isinstance(container, dict) else container) if type(value) is str]
return found(*(text for text in texts if len(text) < 100 and text != "secret-"))`,
    ends: refused,
  },
  {
    name: "the expected output sought in the judge's source, words and variables",
    body: "return found(open('/harness.py').read(), repr(sys.argv), repr(getattr(sys, 'orig_argv', '')), repr(dict(os.environ)), os.readlink('/lib') if os.path.islink('/lib') else '')",
    ends: refused,
  },
  {
    name: "a writer of JSON that forges",
    body: `json.JSONEncoder.encode = lambda *_, **__: '"forged"'\nreturn "refused"`,
    ends: ['"forged"'],
  },
  {
    name: "the judge's own functions replaced",
    body: `
judge = sys.modules["__main__"]
for name in ("write", "close_down", "watch", "test", "seal", "limit", "become", "told", "say"):
    setattr(judge, name, lambda *_: True)
return "refused"`,
    ends: [""],
  },
  {
    name: "the judge's locals rewritten",
    body: `
frame = sys._getframe()
while frame is not None:
    if "job" in frame.f_locals:
        frame.f_locals["job"].update(inputs=[], entry=None, testMs=10**9, outputBytes=10**9)
    frame = frame.f_back
return "refused"`,
    ends: refused,
  },
  {
    name: "a trace that rewrites what is returned",
    body: `
def trace(frame, event, argument):
    frame.f_locals["answer"] = '"forged"'
    return trace
sys.settrace(trace)
frame = sys._getframe()
while frame is not None:
    frame.f_trace = trace
    frame = frame.f_back
return "refused"`,
    ends: [...refused, '"forged"', ...wrong],
  },
  {
    name: "a text that equals everything",
    body: `
class Equal(str):
    def __eq__(self, other): return True
    def __hash__(self): return 0
return Equal("refused")`,
    ends: refused,
  },
  {
    name: "an object that equals everything",
    body: `
class Equal:
    def __eq__(self, other): return True
return Equal()`,
    ends: wrong,
  },
  {
    name: "numbers and dictionaries with representations of their own",
    body: `
class Number(int):
    def __repr__(self): return '"forged"'
    __str__ = __repr__
class Fields(dict):
    def items(self): return [("forged", 1)]
return [Number(3), Fields(a=Number(4))]`,
    ends: ['[3, {"forged": 1}]', '[3, {"a": 4}]'],
  },
  {
    name: "an error whose text ends the process",
    body: `
class Error(Exception):
    def __str__(self): os._exit(0)
raise Error()`,
    ends: [""],
  },
  {
    name: "an error whose text never ends",
    body: `
class Error(Exception):
    def __str__(self):
        while True: pass
raise Error()`,
    ends: late,
  },
  {
    name: "an error whose text and class raise",
    body: `
class Meta(type):
    def __getattribute__(self, name): raise RuntimeError("no")
class Error(Exception, metaclass=Meta):
    def __str__(self): raise Error()
raise Error()`,
    ends: wrong,
  },
  { name: "an error longer than its note", body: `raise ValueError("x\\n\\0\\u2028" * 10**6)`, ends: wrong },
  { name: "an end that says all is well", body: "raise SystemExit(0)", ends: wrong },
  { name: "an interrupt", body: "raise KeyboardInterrupt()", ends: wrong },
  { name: "an error that is none", body: "raise type('Odd', (BaseException,), {})()", ends: wrong },
  { name: "want of memory, as it says", body: "raise MemoryError()", ends: ["memory"] },
  {
    name: "an exit handler that adds to the result",
    body: `import atexit\natexit.register(lambda: os.write(4, b'"forged"'))\nreturn "refused"`,
    ends: ['"refused""forged"'],
  },
  {
    name: "what is left after the end",
    body: `
class Last:
    def __del__(self): os.write(4, b"forged")
sys.last = Last()
return "refused"`,
    ends: refused,
  },
  {
    name: "a program that prints in a thread after its end",
    body: `threading.Thread(target=lambda: (time.sleep(0.1), print("forged"))).start()`,
    program: true,
    ends: ["forged\n"],
  },
  {
    name: "a program that puts words into its standard error",
    body: `os.write(2, b"MemoryError: forged\\n")\nos._exit(1)`,
    program: true,
    ends: ["memory"],
  },
  {
    name: "a program that rewrites its input for the next",
    body: `os.lseek(0, 0, 0)\nos.ftruncate(0, 0)\nprint("refused")`,
    program: true,
    ends: ["refused\n"],
  },
  {
    name: "built-in names removed",
    body: "import builtins\nbuiltins.__dict__.clear()",
    ends: [...wrong, "null", ""],
  },
  { name: "modules removed", body: 'sys.modules.clear()\nreturn "refused"', ends: [...refused, ...wrong] },
  {
    name: "imports that lie",
    body: `
class Finder:
    def find_spec(self, *_): os._exit(0)
sys.meta_path.insert(0, Finder())
import xml.dom.pulldom`,
    ends: [""],
  },
  {
    name: "pickles that run programs",
    body: `
import pickle
return tried(lambda: pickle.loads(b"cposix\\nfork\\n(tR."), lambda: pickle.loads(b"cposix\\nkill\\n(I1\\nI9\\ntR."))`,
    ends: refused,
  },
];

const limits: readonly Attack[] = [
  { name: "a loop", body: "while True: pass", ends: late },
  {
    name: "a loop that catches everything",
    body: `
while True:
    try:
        while True: pass
    except BaseException: pass`,
    ends: late,
  },
  { name: "a loop that no handler interrupts", body: "sum(iter(int, 1))", ends: late },
  { name: "a pattern that backtracks", body: "import re\nre.match('(a|a)*$', 'a' * 60 + 'b')", ends: late },
  { name: "a number of many digits", body: "return len(str(3 ** (7 ** 9)))", ends: [...late, ...wrong] },
  {
    name: "sleep behind ignored signals",
    body: `
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
time.sleep(1000)`,
    ends: late,
  },
  {
    name: "handlers that start again",
    body: `
def again(*_):
    while True: pass
for number in (signal.SIGALRM, signal.SIGXCPU, signal.SIGVTALRM, signal.SIGPROF): signal.signal(number, again)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
again()`,
    ends: late,
  },
  { name: "waiting with everything closed", body: "os.closerange(0, 64)\nselect.select([], [], [], 1000)", ends: late },
  {
    name: "clocks that stand still",
    body: `
time.time = time.monotonic = time.process_time = time.perf_counter = lambda: 0
while True: time.monotonic()`,
    ends: late,
  },
  {
    name: "threads that share the work",
    body: `
import hashlib
threading.stack_size(1 << 18)
def work():
    while True: hashlib.sha256(bytes(1 << 20))
for _ in range(6): threading.Thread(target=work, daemon=True).start()
work()`,
    ends: late,
  },
  {
    name: "more threads than there may be",
    body: `
threading.stack_size(65536)
try:
    for _ in range(20_000): threading.Thread(target=threading.Event().wait, daemon=True).start()
except RuntimeError: os._exit(1)`,
    ends: [...wrong, ...late, "memory"],
    limits: { testMs: 2_000 },
  },
  { name: "a list without end", body: "kept = []\nwhile True: kept.append(bytes(1 << 20))", ends: ["memory"] },
  { name: "one large block", body: "bytearray(1 << 34)", ends: ["memory"] },
  { name: "a mapping larger than memory", body: "import mmap\nmmap.mmap(-1, 1 << 33)", ends: [...wrong, "memory"] },
  { name: "a text that doubles", body: "text = 'x'\nwhile True: text += text", ends: ["memory"] },
  {
    name: "hard limits raised",
    body: `
most = resource.RLIM_INFINITY
names = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_CORE", "RLIMIT_MEMLOCK")
return tried(*(lambda name=name: resource.setrlimit(getattr(resource, name), (most, most)) for name in names))`,
    ends: refused,
  },
  {
    name: "descriptors without end",
    body: `
kept = []
try:
    while True: kept.append(os.pipe())
except OSError: return "refused" if len(kept) < 64 else "went through"`,
    ends: refused,
  },
  {
    name: "descriptors hidden in sockets",
    body: `
one, other = socket.socketpair()
one.setblocking(False)
sent = 0
try:
    while sent < 100_000:
        reader, writer = os.pipe()
        socket.send_fds(one, [b"x"], [reader, writer])
        os.close(reader); os.close(writer)
        sent += 1
except OSError: return "refused" if sent < 1000 else "went through"
return "went through"`,
    ends: refused,
  },
  {
    name: "pipes that hold much",
    body: `
reader, writer = os.pipe()
return tried(lambda: fcntl.fcntl(writer, 1031, 1 << 20))`,
    ends: refused,
  },
  {
    name: "depth without end",
    body: "sys.setrecursionlimit(10**9)\ng = lambda n: g(n + 1) + 1\nreturn g(0)",
    ends: [...wrong, "memory", ...late],
  },
  {
    name: "a result as deep as memory",
    body: "value = []\nfor _ in range(10**5): value = [value]\nreturn value",
    ends: [...wrong, "memory"],
  },
  { name: "a result that contains itself", body: "value = []\nvalue.append(value)\nreturn value", ends: wrong },
  {
    name: "a pickle as deep as memory",
    body: `import pickle\npickle.loads(b"(" * 10**6 + b"t" * 10**6 + b".")`,
    ends: [...wrong, "memory", ...late, "null"],
  },
  { name: "the end of the process by a wrong address", body: "ctypes.string_at(0)", ends: wrong },
  { name: "the end of the process by abort", body: "os.abort()", ends: wrong },
  { name: "a result too long", body: "return 'x' * 10**7", ends: ["output"] },
  { name: "a program that prints without end", body: "while True: print('x' * 1000)", program: true, ends: ["output"] },
  {
    name: "a program that prints to every descriptor",
    body: `
while True:
    for at in range(64):
        try: os.write(at, b"x" * 4096)
        except OSError: pass`,
    program: true,
    ends: ["output"],
  },
  {
    name: "a program that fills its standard error and sleeps",
    body: "sys.stderr.write('x' * 10**7)\nsys.stderr.flush()\ntime.sleep(1000)",
    program: true,
    ends: late,
  },
];

export const attacks: readonly Attack[] = [
  ...signals,
  ...reaching,
  ...files,
  ...network,
  ...processes,
  ...forging,
  ...limits,
  ...kernelMemory,
  ...flushing,
];
