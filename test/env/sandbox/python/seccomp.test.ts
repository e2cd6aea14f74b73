/** The seccomp programs, by a machine that executes them as the kernel does. */
import { describe, expect, it } from "vitest";
import { type Architecture, sandboxFilter, submissionFilter } from "../../../../src/env/sandbox/python/seccomp.ts";

const allow = 0x7fff0000;
const kill = 0x80000000;
const eperm = 0x00050001;
const enosys = 0x00050026;

const archOf: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** The action that `program` returns for a system call. */
const answer = (program: Buffer, arch: number, nr: number, first = 0, second = 0, third = 0, fourth = 0): number => {
  const data = new Map([
    [0, nr],
    [4, arch],
    [16, first],
    [24, second],
    [32, third],
    [40, fourth],
  ]);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at++) {
    const code = program.readUInt16LE(8 * at);
    const value = program.readUInt32LE(8 * at + 4);
    const jump = (holds: boolean): void => {
      at += program.readUInt8(8 * at + (holds ? 2 : 3));
    };
    if (code === 0x20) accumulator = data.get(value)!;
    else if (code === 0x06) return value;
    else if (code === 0x15) jump(accumulator === value);
    else if (code === 0x35) jump(accumulator >= value);
    else if (code === 0x45) jump((accumulator & value) !== 0);
    else throw new Error(`no such instruction: ${code}`);
  }
  throw new Error("the program ends without an answer");
};

const calls = {
  x64: {
    read: 0,
    write: 1,
    mmap: 9,
    socketpair: 53,
    socket: 41,
    ptrace: 101,
    mount: 165,
    unshare: 272,
    bpf: 321,
    uring: 425,
    aio: 206,
    fcntl: 72,
    ioctl: 16,
  },
  arm64: {
    read: 63,
    write: 64,
    mmap: 222,
    socketpair: 199,
    socket: 198,
    ptrace: 117,
    mount: 40,
    unshare: 97,
    bpf: 280,
    uring: 425,
    aio: 0,
    fcntl: 25,
    ioctl: 29,
  },
} as const;
const cloneOf = { x64: 56, arm64: 220 } as const;
/** setpriority, sched_setscheduler, sched_setaffinity. */
const priorities = { x64: [141, 144, 203], arm64: [140, 119, 122] } as const;
/** prctl, and close_range on both machines. */
const prctlOf = { x64: 157, arm64: 167 } as const;
const closeRange = 436;
/** splice, tee, vmsplice, sendfile, sendmsg, sendmmsg, setsockopt, the three of setxattr, seccomp and the three of landlock. */
const holding = {
  x64: [275, 276, 278, 40, 46, 307, 54, 188, 189, 190, 317, 444, 445, 446],
  arm64: [76, 77, 75, 71, 211, 269, 208, 5, 6, 7, 277, 444, 445, 446],
} as const;
/** sync, syncfs, fsync, fdatasync, sync_file_range, msync and fadvise64. */
const flushes = { x64: [162, 306, 74, 75, 277, 26, 221], arm64: [81, 267, 82, 83, 84, 227, 223] } as const;
const starts = { x64: [57, 58, 59, 62, 234, 322], arm64: [221, 129, 131, 281] } as const;

describe.each(["x64", "arm64"] as const)("on %s", (architecture) => {
  const arch = archOf[architecture];
  const { aio, bpf, fcntl, ioctl, mmap, mount, ptrace, read, socket, socketpair, unshare, uring, write } =
    calls[architecture];
  const clone = cloneOf[architecture];
  const sandbox = sandboxFilter(architecture);
  const submission = submissionFilter(architecture);

  it("both let ordinary calls through", () => {
    for (const program of [sandbox, submission]) {
      for (const nr of [read, write, mmap, socketpair]) expect(answer(program, arch, nr)).toBe(allow);
    }
  });

  it("both refuse sockets, mounts, namespaces, other processes and the kernel's wider interfaces", () => {
    for (const program of [sandbox, submission]) {
      for (const nr of [socket, ptrace, mount, unshare, bpf, uring, aio]) expect(answer(program, arch, nr)).toBe(eperm);
    }
  });

  it("both kill what calls by the numbers of another machine", () => {
    for (const program of [sandbox, submission]) expect(answer(program, 0x40000003, read)).toBe(kill);
  });

  it("both say that clone3 does not exist, so that clone is used", () => {
    for (const program of [sandbox, submission]) expect(answer(program, arch, 435)).toBe(enosys);
  });

  it("the sandbox forks and starts programs, without new namespaces", () => {
    for (const nr of starts[architecture]) expect(answer(sandbox, arch, nr)).toBe(allow);
    expect(answer(sandbox, arch, clone, 17)).toBe(allow);
    for (const bit of [0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(answer(sandbox, arch, clone, 17 | bit)).toBe(eperm);
    }
  });

  it("a submission neither forks nor starts programs nor signals, but has threads", () => {
    for (const nr of starts[architecture]) expect(answer(submission, arch, nr)).toBe(eperm);
    expect(answer(submission, arch, clone, 17)).toBe(eperm);
    expect(answer(submission, arch, clone, 0x3d0f00)).toBe(allow);
  });

  it("a thread of a submission has the descriptors of all the others", () => {
    expect(answer(submission, arch, clone, 0x3d0f00 & ~0x400)).toBe(eperm);
    expect(answer(submission, arch, closeRange, 3, 100, 2)).toBe(eperm);
    for (const flags of [0, 4]) expect(answer(submission, arch, closeRange, 3, 100, flags)).toBe(allow);
  });

  it("a submission makes the kernel hold no memory for it, and no disk write", () => {
    for (const nr of [...holding[architecture], ...flushes[architecture]]) {
      expect(answer(submission, arch, nr)).toBe(eperm);
      expect(answer(sandbox, arch, nr)).toBe(allow);
    }
  });

  it("a submission maps memory of its own and files, but no memory that is shared without a file", () => {
    // MAP_PRIVATE, with and without a file, as the loader does; MAP_SHARED of a file.
    for (const flags of [0x22, 0x02, 0x812, 0x20022, 0x01]) {
      expect(answer(submission, arch, mmap, 0, 4096, 3, flags)).toBe(allow);
    }
    // MAP_SHARED and MAP_SHARED_VALIDATE without a file, alone and with MAP_HUGETLB.
    for (const flags of [0x21, 0x23, 0x40021]) expect(answer(submission, arch, mmap, 0, 4096, 3, flags)).toBe(eperm);
  });

  it("a submission names its threads and its memory, and asks nothing else of prctl", () => {
    const prctl = prctlOf[architecture];
    for (const option of [3, 15, 16, 39, 0x53564d41]) expect(answer(submission, arch, prctl, option)).toBe(allow);
    // PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_MM, PR_SET_THP_DISABLE, PR_CAP_AMBIENT, PR_FUTEX_HASH.
    for (const option of [1, 4, 22, 35, 41, 47, 78]) expect(answer(submission, arch, prctl, option)).toBe(eperm);
  });

  it("a submission gives no process another priority; what starts it may", () => {
    for (const nr of priorities[architecture]) {
      expect(answer(submission, arch, nr)).toBe(eperm);
      expect(answer(sandbox, arch, nr)).toBe(allow);
    }
  });

  it("a submission gives no descriptor an owner, a signal, a lease or a notice", () => {
    // F_GETLK to F_SETLKW, F_SETOWN to F_GETOWN_EX, the open file locks, F_SETLEASE to F_NOTIFY and F_SETPIPE_SZ.
    for (const command of [5, 6, 7, 8, 9, 10, 11, 15, 16, 36, 37, 38, 1024, 1025, 1026, 1031]) {
      expect(answer(submission, arch, fcntl, 3, command, 1)).toBe(eperm);
      expect(answer(sandbox, arch, fcntl, 3, command, 1)).toBe(allow);
    }
    // FIOASYNC, FIOSETOWN, SIOCSPGRP, TIOCSTI and TIOCSPGRP.
    for (const command of [0x5452, 0x8901, 0x8902, 0x5412, 0x5410]) {
      expect(answer(submission, arch, ioctl, 3, command)).toBe(eperm);
    }
  });

  it("a submission copies descriptors and sets their flags, but for the one that signals", () => {
    for (const command of [0, 1, 2, 3, 1030]) expect(answer(submission, arch, fcntl, 3, command, 0x2000)).toBe(allow);
    expect(answer(submission, arch, fcntl, 3, 4, 0x800)).toBe(allow);
    expect(answer(submission, arch, fcntl, 3, 4, 0x2800)).toBe(eperm);
    for (const command of [0x5401, 0x541b, 0x5421]) expect(answer(submission, arch, ioctl, 3, command)).toBe(allow);
  });

  it("a submission has pairs of local sockets and of no other family", () => {
    expect(answer(submission, arch, socketpair, 1)).toBe(allow);
    for (const family of [2, 10, 16, 30]) expect(answer(submission, arch, socketpair, family)).toBe(eperm);
  });

  it("both say that calls newer than their tables do not exist", () => {
    for (const program of [sandbox, submission]) {
      expect(answer(program, arch, 439)).toBe(allow);
      for (const nr of [450, 460, 600]) expect(answer(program, arch, nr)).toBe(enosys);
    }
  });

  it("fits what the kernel loads", () => {
    for (const program of [sandbox, submission]) expect(program.length / 8).toBeLessThan(4096);
  });
});

describe("on x64", () => {
  it("the numbers of the x32 interface do not exist", () => {
    expect(answer(sandboxFilter("x64"), archOf.x64, 0x4000_0000 + 41)).toBe(enosys);
  });
});
