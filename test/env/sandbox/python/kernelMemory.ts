/**
 * Attacks that make the kernel hold memory that no limit of the process counts, and that make the disks of the host write. Where one went
 * through, it would take at most half a gigabyte.
 */
import { type Attack, refused } from "../attacks.ts";

/** Functions that the bodies share: memory by raw calls, and `held`, which counts how often an attempt succeeds. */
const helpers = `
libc.mmap.restype = ctypes.c_ssize_t
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ssize_t]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
MB, ANONYMOUS, SHARED, PRIVATE = 1 << 20, 0x20, 1, 2
def mapped(size, flags, descriptor=-1):
    return checked(libc.mmap(None, size, 3, flags, descriptor, 0))
def held(times, attempt):
    for at in range(times):
        try: attempt(at)
        except OSError: return "refused" if at == 0 else "held %d" % at
    return "held %d" % times
`;

const attackOf = (name: string, body: string): Attack => ({ name, body: `${helpers}${body}`, ends: refused });

export const kernelMemory: readonly Attack[] = [
  attackOf(
    "huge pages lent to pipes",
    `
def lend(at):
    start = mapped(34 * MB, PRIVATE | ANONYMOUS)
    libc.madvise(start, 34 * MB, 14)
    ctypes.memset(start, 1, 34 * MB)
    reader, writer = os.pipe()
    whole = -(-start // (2 * MB)) * 2 * MB
    for page in range(16):
        part = (ctypes.c_size_t * 2)(whole + page * 2 * MB, 4096)
        call(278, 75, writer, part, ctypes.c_size_t(1), 0)
    libc.munmap(start, 34 * MB)
return held(12, lend)`,
  ),
  attackOf(
    "pages moved and doubled between pipes",
    `
reader, writer = os.pipe()
other, second = os.pipe()
os.write(writer, b"x" * 4096)
return tried(
    lambda: call(276, 77, reader, second, ctypes.c_size_t(4096), 2),
    lambda: call(275, 76, reader, None, second, None, ctypes.c_size_t(4096), 2),
    lambda: os.sendfile(second, 0, 0, 1),
    lambda: os.sendfile(second, os.open(os.__file__, os.O_RDONLY), 0, 4096),
)`,
  ),
  attackOf(
    "shared memory of which one page stays",
    `
def keep(at):
    start = mapped(100 * MB, SHARED | ANONYMOUS)
    ctypes.memset(start, 1, 100 * MB)
    libc.munmap(start + 4096, 100 * MB - 4096)
return held(5, keep)`,
  ),
  attackOf(
    "shared memory by its other names",
    `
return tried(
    lambda: mapped(MB, 3 | ANONYMOUS),
    lambda: mapped(MB, SHARED | ANONYMOUS | 0x40000),
    lambda: mapped(MB, SHARED | ANONYMOUS | 0x4000),
    lambda: call(29, 194, 0, ctypes.c_size_t(MB), 0o1666),
    lambda: checked(libc.memfd_create(b"x", 4)),
)`,
  ),
  attackOf(
    "attributes of its input",
    `return held(4000, lambda at: checked(libc.fsetxattr(0, b"user.%d" % at, b"x" * 65536, ctypes.c_size_t(65536), 0)))`,
  ),
  attackOf(
    "attributes of files",
    `
value = ctypes.c_size_t(1)
return tried(
    lambda: checked(libc.setxattr(b"/harness.py", b"user.x", b"x", value, 0)),
    lambda: checked(libc.lsetxattr(b"/harness.py", b"user.x", b"x", value, 0)),
)`,
  ),
  attackOf(
    "a table of futexes",
    `return tried(lambda: call(157, 167, 78, ctypes.c_long(1), ctypes.c_long(1 << 22), ctypes.c_long(0), ctypes.c_long(0)))`,
  ),
  attackOf(
    "rules without number",
    `
return tried(
    lambda: call(444, 444, None, ctypes.c_size_t(0), 1),
    lambda: call(444, 444, struct.pack("QQ", 0, 3), ctypes.c_size_t(16), 0),
    lambda: call(445, 445, 0, 2, struct.pack("QQ", 1, 80), 0),
    lambda: call(446, 446, 0, 0),
)`,
  ),
  attackOf(
    "filters without number",
    `
steps = ctypes.create_string_buffer(struct.pack("HBBI", 0x20, 0, 0, 0) * 4094 + struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = struct.pack("HxxxxxxQ", 4095, ctypes.addressof(steps))
one, other = socket.socketpair()
return tried(
    lambda: call(317, 277, 1, 0, program),
    lambda: call(157, 167, 22, ctypes.c_long(2), program, ctypes.c_long(0), ctypes.c_long(0)),
    lambda: one.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxQ", 1, ctypes.addressof(steps))),
)`,
  ),
  attackOf(
    "descriptors in a table of its own",
    `
tables = []
def leave():
    tables.append(tried(lambda: call(436, 436, 1000, 1001, 2), lambda: call(272, 97, 0x400)))
thread = threading.Thread(target=leave)
thread.start()
thread.join()
return tables[0]`,
  ),
  attackOf(
    "a thread with descriptors of its own",
    `return tried(*(lambda flags=flags: call(56, 220, flags, 0, 0, 0, 0) for flags in (0x10b00, 0x10900)))`,
  ),
  attackOf(
    "descriptors on their way",
    `
one, other = socket.socketpair()
return tried(lambda: socket.send_fds(one, [b"x"], [0]), lambda: one.sendmsg([b"x"]), lambda: call(307, 269, one.fileno(), (ctypes.c_long * 8)(), 1, 0))`,
  ),
  attackOf(
    "larger buffers of sockets",
    `
one, other = socket.socketpair()
return tried(*(lambda option=option: one.setsockopt(socket.SOL_SOCKET, option, 1 << 24) for option in (7, 8, 32, 33)))`,
  ),
  attackOf(
    "huge pages of its own",
    `return tried(lambda: call(157, 167, 41, ctypes.c_long(0), ctypes.c_long(0), ctypes.c_long(0), ctypes.c_long(0)))`,
  ),
  attackOf(
    "timers without number",
    `
outcome = held(1000, lambda at: call(222, 107, 1, None, ctypes.byref(ctypes.c_int())))
return "refused" if outcome.startswith("held ") and int(outcome[5:]) <= 64 else outcome`,
  ),
  attackOf(
    "kernel objects by every other name",
    `
return tried(
    lambda: call(248, 217, b"user", b"x", b"x" * 32767, ctypes.c_size_t(32767), -3),
    lambda: call(250, 219, 0, -3, 1),
    lambda: call(323, 282, 1),
    lambda: call(425, 425, 4096, (ctypes.c_char * 128)()),
    lambda: call(240, 180, b"queue", 0o100 | 2, 0o600, None),
    lambda: call(68, 186, 0, 0o1666),
    lambda: call(64, 190, 0, 32000, 0o1666),
    lambda: call(294, 26, 0),
    lambda: call(321, 280, 0, (ctypes.c_char * 128)(), 128),
    lambda: call(298, 241, (ctypes.c_char * 128)(), 0, -1, -1, 0),
    lambda: call(206, 0, 65536, ctypes.byref(ctypes.c_long())),
)`,
  ),
];

export const flushing: readonly Attack[] = [
  {
    name: "the host's disks made to write",
    body: `${helpers}
file = os.open(os.__file__, os.O_RDONLY)
page = checked(libc.mmap(None, 4096, 1, SHARED, file, 0))
return tried(
    lambda: call(162, 81),
    lambda: call(306, 267, file),
    lambda: os.fsync(file),
    lambda: os.fdatasync(file),
    lambda: call(277, 84, file, ctypes.c_long(0), ctypes.c_long(0), 7),
    lambda: call(26, 227, ctypes.c_size_t(page), ctypes.c_size_t(4096), 4),
    lambda: os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED),
)`,
    ends: refused,
  },
];
