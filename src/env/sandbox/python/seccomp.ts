/**
 * Seccomp programs, as the bytes that the kernel loads, which refuse system calls with EPERM. `sandboxFilter` is for all processes in the
 * sandbox: no sockets, mounts, namespaces, other processes' memory or wider interfaces of the kernel. `submissionFilter` also denies
 * model-written code new processes and programs, signals and priorities of other processes, and memory outside its limits. Namespaces and
 * dropped privileges confine without the filters, which reduce the kernel's reachable surface.
 */

export type Architecture = "x64" | "arm64";

export const architectures: readonly string[] = ["x64", "arm64"] satisfies readonly Architecture[];

/** The values are AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64. */
const auditArch: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** The numbers of system calls on x64 and on arm64; null if the architecture has no such call. */
type CallNumbers = Readonly<Record<string, readonly [x64: number, arm64: number | null]>>;

const refusedAlways: CallNumbers = {
  socket: [41, 198],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  unshare: [272, 97],
  setns: [308, 268],
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_setup: [206, 0],
  modify_ldt: [154, null],
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  shmget: [29, 194],
  shmat: [30, 196],
  semget: [64, 190],
  msgget: [68, 186],
  mq_open: [240, 180],
  memfd_secret: [447, 447],
  personality: [135, 92],
  syslog: [103, 116],
  fanotify_init: [300, 262],
  acct: [163, 89],
  quotactl: [179, 60],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  quotactl_fd: [443, 443],
};

const refusedToSubmissions: CallNumbers = {
  fork: [57, null],
  vfork: [58, null],
  execve: [59, 221],
  execveat: [322, 281],
  memfd_create: [319, 279],
  kill: [62, 129],
  tkill: [200, 130],
  tgkill: [234, 131],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
  pidfd_send_signal: [424, 424],
  pidfd_open: [434, 434],
  process_mrelease: [448, 448],
  setpriority: [141, 140],
  sched_setparam: [142, 118],
  sched_setscheduler: [144, 119],
  sched_setaffinity: [203, 122],
  sched_setattr: [314, 274],
  ioprio_set: [251, 30],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  process_madvise: [440, 440],
  // These lock and watch files that the host's programs use as well.
  flock: [73, 32],
  inotify_init: [253, null],
  inotify_init1: [294, 26],
  inotify_add_watch: [254, 27],
};

/**
 * Calls by which the kernel holds memory that no limit of the process counts. It is in pages lent to a pipe, descriptors in flight and larger
 * buffers of a socket, attributes of a file, filters and rules.
 */
const holdingMemory: CallNumbers = {
  splice: [275, 76],
  tee: [276, 77],
  vmsplice: [278, 75],
  sendfile: [40, 71],
  sendmsg: [46, 211],
  sendmmsg: [307, 269],
  setsockopt: [54, 208],
  setxattr: [188, 5],
  lsetxattr: [189, 6],
  fsetxattr: [190, 7],
  seccomp: [317, 277],
  landlock_create_ruleset: [444, 444],
  landlock_add_rule: [445, 445],
  landlock_restrict_self: [446, 446],
};

/** Calls that make the host write to its disks, or drop its cache of files. */
const flushing: CallNumbers = {
  sync: [162, 81],
  syncfs: [306, 267],
  fsync: [74, 82],
  fdatasync: [75, 83],
  sync_file_range: [277, 84],
  msync: [26, 227],
  fadvise64: [221, 223],
};

/** The call sets limits of the process that its first argument names; 0 is the caller. */
const prlimit64 = { x64: 302, arm64: 261 } as const;
const clone = { x64: 56, arm64: 220 } as const;
const clone3 = 435;
const fcntl = { x64: 72, arm64: 25 } as const;
const ioctl = { x64: 16, arm64: 29 } as const;
const socketpair = { x64: 53, arm64: 199 } as const;
const mmap = { x64: 9, arm64: 222 } as const;
const prctl = { x64: 157, arm64: 167 } as const;
const closeRange = 436;
/** Calls from here on are newer than the tables above (set_mempolicy_home_node and later). */
const firstUnknown = 450;

/**
 * Submissions may not set the owner of a descriptor, its signals, leases or notices, because the kernel signals the owner, whichever process
 * that is. The commands and flags below are those that decide it.
 */
const F_SETFL = 4;
const O_ASYNC = 0x2000;
/** The allowed commands are F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC and F_GETPIPE_SZ. */
const fcntlCommands = [0, 1, 2, 3, 1030, 1032] as const;
/** The allowed commands are TCGETS and TIOCGWINSZ (which tell a terminal), FIONREAD, FIONBIO, FIONCLEX and FIOCLEX. */
const ioctlCommands = [0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451] as const;
const AF_UNIX = 1;
/** The allowed options are PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_NO_NEW_PRIVS and PR_SET_VMA (by which the C library names maps). */
const prctlOptions = [3, 15, 16, 39, 0x5356_4d41] as const;
const MAP_SHARED = 0x01;
const MAP_ANONYMOUS = 0x20;
/** A thread with a table of descriptors of its own could hold as many descriptors again. */
const CLOSE_RANGE_UNSHARE = 2;

/** The bits are CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const newNamespaces = 0x7e02_0080;
const cloneThread = 0x0001_0000;
/** CLONE_FILES gives the new thread the same table of descriptors. */
const cloneFiles = 0x0000_0400;

const EPERM = 1;
const ENOSYS = 38;

// These are the opcodes of the filter machine (linux/filter.h) and the actions that a filter returns (linux/seccomp.h).
const load = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const jumpIfAnyBit = 0x45;
const returnAction = 0x06;
const allow = 0x7fff_0000;
const killProcess = 0x8000_0000;
const refuse = (errno: number): number => 0x0005_0000 | errno;

// These are offsets into struct seccomp_data. Both machines are little-endian, so the low half of an argument comes first; the kernel reads
// only that half of the arguments used here.
const callNumber = 0;
const architectureField = 4;
const firstArgument = 16;
const secondArgument = 24;
const thirdArgument = 32;
const fourthArgument = 40;

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

/** Compares the loaded value with `value`, and returns `action` if the test holds. */
const ifTrue = (jump: number, value: number, action: number): readonly Instruction[] => [
  [jump, 0, 1, value],
  [returnAction, 0, 0, action],
];
const ifFalse = (jump: number, value: number, action: number): readonly Instruction[] => [
  [jump, 1, 0, value],
  [returnAction, 0, 0, action],
];

const assemble = (instructions: readonly Instruction[]): Buffer => {
  const bytes = Buffer.alloc(8 * instructions.length);
  for (const [at, [code, whenTrue, whenFalse, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, 8 * at);
    bytes.writeUInt8(whenTrue, 8 * at + 2);
    bytes.writeUInt8(whenFalse, 8 * at + 3);
    bytes.writeUInt32LE(value >>> 0, 8 * at + 4);
  }
  return bytes;
};

/** Runs `instructions` on one argument of one call, and allows the call if they decide nothing. */
const byArgument = (
  number: number,
  instructions: readonly Instruction[],
  argument = firstArgument,
): readonly Instruction[] => [
  [jumpIfEqual, 0, instructions.length + 2, number],
  [load, 0, 0, argument],
  ...instructions,
  [returnAction, 0, 0, allow],
];

const oneOf = (values: readonly number[]): readonly Instruction[] => [
  ...values.flatMap((value) => ifTrue(jumpIfEqual, value, allow)),
  [returnAction, 0, 0, refuse(EPERM)],
];

/** The flags of a descriptor may change, but for the one that makes it signal its owner. */
const allowFlags = (otherwise: readonly Instruction[]): readonly Instruction[] => [
  [jumpIfEqual, 0, 4, F_SETFL],
  [load, 0, 0, thirdArgument],
  ...ifTrue(jumpIfAnyBit, O_ASYNC, refuse(EPERM)),
  [returnAction, 0, 0, allow],
  ...otherwise,
];

/** Shared memory without a file stays alive as a whole while one page is mapped, and only that page counts, so it is refused. */
const unlessSharedMemory: readonly Instruction[] = [
  [jumpIfAnyBit, 0, 2, MAP_ANONYMOUS],
  ...ifTrue(jumpIfAnyBit, MAP_SHARED, refuse(EPERM)),
];

const program = (architecture: Architecture, refused: CallNumbers, byArguments: readonly Instruction[]): Buffer => {
  const column = architecture === "x64" ? 0 : 1;
  const numbers = Object.values(refused).flatMap((pair) => pair[column] ?? []);
  return assemble([
    [load, 0, 0, architectureField],
    ...ifFalse(jumpIfEqual, auditArch[architecture], killProcess),
    [load, 0, 0, callNumber],
    // The x32 interface of x64 has other numbers for the same calls.
    ...(architecture === "x64" ? ifTrue(jumpIfAtLeast, 0x4000_0000, refuse(ENOSYS)) : []),
    ...numbers.flatMap((number) => ifTrue(jumpIfEqual, number, refuse(EPERM))),
    ...ifTrue(jumpIfAtLeast, firstUnknown, refuse(ENOSYS)),
    // The flags of clone3 lie in memory, where no filter can read them; without clone3 the C library uses clone.
    ...ifTrue(jumpIfEqual, clone3, refuse(ENOSYS)),
    ...byArguments,
    [returnAction, 0, 0, allow],
  ]);
};

export const sandboxFilter = (architecture: Architecture): Buffer =>
  program(
    architecture,
    refusedAlways,
    byArgument(clone[architecture], ifTrue(jumpIfAnyBit, newNamespaces, refuse(EPERM))),
  );

export const submissionFilter = (architecture: Architecture): Buffer =>
  program(architecture, { ...refusedAlways, ...refusedToSubmissions, ...holdingMemory, ...flushing }, [
    ...byArgument(clone[architecture], [
      ...ifFalse(jumpIfAnyBit, cloneThread, refuse(EPERM)),
      ...ifFalse(jumpIfAnyBit, cloneFiles, refuse(EPERM)),
    ]),
    ...byArgument(closeRange, ifTrue(jumpIfAnyBit, CLOSE_RANGE_UNSHARE, refuse(EPERM)), thirdArgument),
    ...byArgument(mmap[architecture], unlessSharedMemory, fourthArgument),
    ...byArgument(prctl[architecture], oneOf(prctlOptions)),
    ...byArgument(prlimit64[architecture], ifFalse(jumpIfEqual, 0, refuse(EPERM))),
    // The kernel loads modules for other families.
    ...byArgument(socketpair[architecture], ifTrue(jumpIfAtLeast, AF_UNIX + 1, refuse(EPERM))),
    ...byArgument(fcntl[architecture], allowFlags(oneOf(fcntlCommands)), secondArgument),
    ...byArgument(ioctl[architecture], oneOf(ioctlCommands), secondArgument),
  ]);
