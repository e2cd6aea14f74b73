"""The inside of the Python sandbox: runs the tests of one submission, each in a process of its own.

It reads one job as a line of JSON from standard input and writes lines of JSON to standard output: {"ready"}, then one for each test.
Invariant: code of a submission runs only in a child that has set its limits, has loaded the second seccomp program and has reported both;
a child that cannot do so is a failure of the sandbox, never a verdict. Standard library only; Python 3.8 or newer.
"""
import atexit
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import sys
import time
import traceback

# What submissions import most is loaded once and shared by the children.
import bisect, collections, copy, decimal, fractions, functools, heapq, itertools, math, operator, random, re, string, typing

PR_SET_SECCOMP = 22
SECCOMP_MODE_FILTER = 2
PR_SET_NO_NEW_PRIVS = 38
PR_SET_THP_DISABLE = 41

STACK_BYTES = 64 << 20
THREADS = 64
DESCRIPTORS = 64
NOTE_BYTES = 400

libc = ctypes.CDLL(None, use_errno=True)


class CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


OF_THIS_PROCESS = CapabilityHeader(0x20080522, 0)
# Effective, permitted and inheritable, in two halves.
Capabilities = ctypes.c_uint32 * 6


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def seal(filter):
    """Loads a seccomp program for this process, for good."""
    program = Program(len(filter) // 8, filter)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def limit(job):
    """Sets hard limits, which cannot be raised again."""
    for name, most in (
        ("RLIMIT_AS", job["memoryBytes"]),
        ("RLIMIT_CPU", int(job["testMs"] / 1000) + 2),
        ("RLIMIT_STACK", STACK_BYTES),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_NOFILE", DESCRIPTORS),
        ("RLIMIT_NPROC", THREADS),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
        ("RLIMIT_SIGPENDING", 64),
    ):
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(number, (value, value))
    # Of a huge page, four kilobytes that stay mapped keep two megabytes.
    if libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "huge pages")


def write(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def customary():
    """Names that competition code takes for granted."""
    names = {}
    for module in (typing, bisect, collections, functools, heapq, itertools, math):
        names.update((name, getattr(module, name)) for name in getattr(module, "__all__", dir(module)) if name[0] != "_")
    for module in (bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys, typing):
        names[module.__name__] = module
    # math.pow is not pow.
    return {name: value for name, value in names.items() if name not in dir(__builtins__)}


def told(error):
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def close_down():
    """Does what the interpreter does at exit: waits for threads, runs exit handlers, flushes buffers."""
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.__stdout__):
        stream.flush()


def submission(job, text, status, result):
    """Runs the test in the sealed child; returns whether it ended normally. A function's result is written to `result`."""
    entry = job["entry"]
    try:
        compiled = compile(job["code"], "solution.py", "exec", dont_inherit=True)
    except BaseException as error:
        write(status, b"c" + told(error).splitlines()[-1].encode("utf-8", "replace")[:NOTE_BYTES])
        return False
    os.close(status)
    module = type(sys)("__main__" if entry is None else "solution")
    if job["customary"]:
        module.__dict__.update(customary())
    # Dataclasses and pickles look up the module they are defined in.
    sys.modules[module.__name__] = module
    try:
        try:
            exec(compiled, module.__dict__)
            if entry is not None:
                target = module.__dict__.get(entry)
                if target is None and "Solution" in module.__dict__:
                    target = getattr(module.__dict__["Solution"](), entry, None)
                if not callable(target):
                    raise NameError("there is no function %s" % entry)
                answer = json.dumps(target(*json.loads(text)), allow_nan=False)
                write(result, answer.encode("utf-8", "surrogatepass"))
        except SystemExit as end:
            if entry is not None or end.code not in (None, 0):
                raise
        close_down()
        return True
    except BaseException as error:
        write(2, told(error).encode("utf-8", "replace")[-NOTE_BYTES:])
        return False


# Descriptors that a child has open besides its standard streams.
STATUS, RESULT = 3, 4


def become(job, text, streams, run):
    """Seals the forked child and runs `run` in it. Never returns. What fails after the seal is the fault of what runs."""
    right = sealed = False
    try:
        stdin = os.memfd_create("stdin")
        if job["entry"] is None:
            write(stdin, text.encode("utf-8", "surrogatepass"))
            os.lseek(stdin, 0, os.SEEK_SET)
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 64) for descriptor in (stdin, *streams)]
        for at, descriptor in enumerate(high):
            os.dup2(descriptor, at)
        os.closerange(len(high), 4096)
        for name, mode, at in (("stdin", "r", 0), ("stdout", "w", 1), ("stderr", "w", 2)):
            stream = open(at, mode, encoding="utf-8", errors="replace", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, "__%s__" % name, stream)
        limit(job)
        seal(bytes.fromhex(job["filter"]))
        write(STATUS, b"s")
        sealed = True
        right = run(job, text, STATUS, RESULT)
    except BaseException as error:
        try:
            if not sealed:
                write(STATUS, b"u" + told(error).encode("utf-8", "replace")[:NOTE_BYTES])
        except BaseException:
            pass
    finally:
        os._exit(0 if right else 1)


def processor_seconds(pid):
    """Processor time by the kernel's clock of the process."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def watch(pid, streams, job):
    """Reads the child's output until it has ended; kills it at its time limit or when its output is too long."""
    said = {descriptor: bytearray() for descriptor in streams}
    out, err, status, result = streams
    most = {out: job["outputBytes"], err: 1 << 16, status: 2 * NOTE_BYTES, result: job["outputBytes"]}
    waiting = select.poll()
    for descriptor in streams:
        waiting.register(descriptor, select.POLLIN)
    still = set(streams)
    clock = time.monotonic() + job["clockMs"] / 1000
    why = code = None
    while still or code is None:
        if still:
            for descriptor, _ in waiting.poll(20):
                chunk = os.read(descriptor, 1 << 16)
                if not chunk:
                    waiting.unregister(descriptor)
                    still.remove(descriptor)
                elif len(said[descriptor]) <= most[descriptor]:
                    said[descriptor] += chunk
        else:
            time.sleep(0.001)
        if code is None:
            done, state = os.waitpid(pid, os.WNOHANG)
            if done:
                code = state
        if code is None and why is None:
            if any(len(said[descriptor]) > most[descriptor] for descriptor in (out, result)):
                why = "output"
            elif time.monotonic() > clock or processor_seconds(pid) * 1000 > job["testMs"]:
                why = "timeout"
            if why is not None:
                os.kill(pid, signal.SIGKILL)
    if why is None and any(len(said[descriptor]) > most[descriptor] for descriptor in (out, result)):
        why = "output"
    return why, code, [said[descriptor].decode("utf-8", "replace") for descriptor in streams]


class Trouble(Exception):
    """A failure of the sandbox, before code of the submission has run in the child."""


def start(job, text, run):
    """Forks a child that runs `run`; returns it with the read ends of its pipes."""
    pipes = [os.pipe() for _ in range(4)]
    pid = os.fork()
    if pid == 0:
        become(job, text, [end for _, end in pipes], run)
    for _, end in pipes:
        os.close(end)
    return pid, [end for end, _ in pipes]


def test(job, text, run=submission):
    try:
        pid, streams = start(job, text, run)
    except OSError as error:
        raise Trouble(told(error))
    why, code, (out, err, status, result) = watch(pid, streams, job)
    for end in streams:
        os.close(end)
    if status[:1] != "s":
        raise Trouble("a child could not be sealed: %s" % (status.lstrip("u") or "wait status %d" % code))
    if status[1:2] == "c":
        return {"end": "uncompilable", "note": status[2:]}
    if why is not None:
        return {"end": why, "note": ""}
    note = err.strip().splitlines()[-1][:NOTE_BYTES] if err.strip() else ""
    if os.WIFSIGNALED(code):
        number = os.WTERMSIG(code)
        late = number in (signal.SIGXCPU, signal.SIGKILL)
        return {"end": "timeout" if late else "error", "note": "ended by signal %d" % number}
    if os.WEXITSTATUS(code) != 0:
        return {"end": "memory" if note.startswith("MemoryError") else "error", "note": note}
    return {"end": "answered", "text": out if job["entry"] is None else result}


def breaches(job, text, status, result):
    """Runs in place of a submission: lists what the confinement wrongly allows, as JSON.

    What is tried does no harm where it succeeds: this runs before anything is known to hold.
    """
    import socket

    found = []

    def refused(what, attempt):
        try:
            attempt()
            found.append(what)
        except OSError:
            pass

    def expect(what, right):
        if not right:
            found.append(what)

    def checked(outcome):
        if outcome != 0:
            raise OSError()

    def fork():
        if os.fork() == 0:
            os._exit(0)

    words = Capabilities()
    expect("privileges are kept", libc.capget(ctypes.byref(OF_THIS_PROCESS), words) == 0 and not any(words))
    expect("it is root", 0 not in os.getresuid() and 0 not in os.getresgid() and 0 not in os.getgroups())
    refused("root is one call away", lambda: os.setuid(0))
    refused("a socket opens", lambda: socket.socket(socket.AF_INET))
    refused("a process forks", fork)
    refused("a program starts", lambda: os.execv(sys.executable, [sys.executable, "-c", ""]))
    refused("a namespace opens", lambda: checked(libc.unshare(0x10000000)))
    refused("signals reach others", lambda: os.kill(os.getppid(), 0))
    refused("a descriptor signals its owner", lambda: fcntl.fcntl(result, fcntl.F_SETOWN, os.getpid()))
    refused("a descriptor has a signal", lambda: fcntl.fcntl(result, fcntl.F_SETSIG, 0))
    refused("a descriptor is asynchronous", lambda: fcntl.ioctl(result, 0x5452, bytes(4)))
    for folder in ("/", *("/" + name for name in os.listdir("/"))):
        # A read-only file system refuses root as well.
        expect("%s is writable" % folder, not os.access(folder, os.W_OK))
    for path in ("/etc/passwd", "/proc", "/sys", "/dev", "/tmp", "/home", "/var", "/usr/bin/env"):
        expect("%s is there" % path, not os.path.exists(path))
    expect("the environment leaks", set(os.environ) <= set(job["environment"]))
    expect("descriptors leak", not any(is_open(descriptor) for descriptor in range(5, 64)))
    write(result, json.dumps(found).encode())
    return True


def is_open(descriptor):
    try:
        os.fstat(descriptor)
        return True
    except OSError:
        return False


def drop(user):
    """Changes from root, in a sandbox without its own user namespace, to a user that owns nothing."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if libc.capset(ctypes.byref(OF_THIS_PROCESS), Capabilities()) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def say(line):
    write(1, (json.dumps(line) + "\n").encode())


def main():
    # The folder of this file, in which no module lies.
    del sys.path[0]
    if len(sys.argv) > 1:
        drop(int(sys.argv[1]))
    job = json.loads(sys.stdin.readline())
    say({"ready": True})
    try:
        if job["prove"]:
            say(test(job, "", breaches))
            return
        for text in job["inputs"]:
            answer = test(job, text)
            say(answer)
            if answer["end"] == "uncompilable" or (job["stopAtTimeout"] and answer["end"] == "timeout"):
                return
    except Trouble as trouble:
        say({"trouble": str(trouble)})


main()
