"""A guest: another kernel under qemu, without KVM, which sees this machine's files read-only.

    outcome = Guest(folder_of_the_kernel).run(["uname", "-a"])
    outcome.code, outcome.output

The guest's root is this machine's, by 9p, or a folder with the root of another processor (machines.py);
what it writes goes to memory. Each run boots once and leaves nothing behind: qemu is ended by its own id, and
by the kernel if the process that started it dies.
"""

import ctypes
import dataclasses
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import time

import machines

BUSYBOX = "/bin/busybox"
MODULES = ["virtio_pci", "9pnet_virtio", "9p"]
WRITABLE = ["/tmp", "/run", "/var/tmp", "/dev/shm"]
EXCHANGE = "/run/exchange"  # the one folder that both see and the guest may write to
PR_SET_PDEATHSIG = 1

INIT = f"""#!{BUSYBOX} sh
busybox() {{ {BUSYBOX} "$@"; }}
plan9() {{ busybox mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,$1" "$2" "$3"; }}
for module in $(busybox cat /modules/order); do busybox insmod "/modules/$module.ko"; done
busybox mkdir -p /host /below
plan9 ro,cache=loose host /host
busybox mount --bind /host /below
busybox mount -t proc proc /host/proc
busybox mount -t sysfs sys /host/sys
busybox mount -t devtmpfs dev /host/dev
busybox mkdir -p /host/dev/pts /host/dev/shm
busybox mount -t devpts pts /host/dev/pts
busybox ln -s /proc/self/fd /host/dev/fd
for folder in {' '.join(WRITABLE)}; do busybox mount -t tmpfs -o mode=1777 tmpfs "/host$folder"; done
while read -r folder; do
  busybox mkdir -p "/host$folder"
  busybox mount --bind "/below$folder" "/host$folder"
done < /shown
while read -r tag folder; do
  busybox mkdir -p "/host$folder"
  plan9 ro,cache=loose "$tag" "/host$folder"
done < /shared
busybox mkdir -p /host{EXCHANGE}
plan9 rw exchange /host{EXCHANGE}
busybox ip link set lo up
exec {BUSYBOX} switch_root /host /bin/sh {EXCHANGE}/start
"""

START = """cd {cwd}
env -i {env} {busybox} setsid {command} >{exchange}/output 2>&1 </dev/null
echo $? >{exchange}/code
{busybox} poweroff -f
"""


class GuestFailed(Exception):
    """The guest gave no answer; the text ends with its output."""


@dataclasses.dataclass
class Outcome:
    code: int
    output: str
    files: dict  # what the command left in EXCHANGE: {name: bytes}


def archive(files):
    """An initramfs (cpio, newc) of {path: (mode, bytes)}."""
    made = bytearray()

    def pad():
        made.extend(b"\0" * (-len(made) % 4))
    for number, (path, (mode, data)) in enumerate([*files.items(), ("TRAILER!!!", (0, b""))], 1):
        name = path.encode() + b"\0"
        words = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        made.extend(b"070701" + b"".join(b"%08X" % word for word in words) + name)
        pad()
        made.extend(data)
        pad()
    return bytes(made)


class Guest:
    def __init__(self, kernel, shown=(), memory_mib=1500, machine=None):
        """kernel: the folder that `fetch` filled. shown: folders that stay visible although they are below
        one of WRITABLE, or not in the guest's root."""
        self.kernel, self.memory_mib = pathlib.Path(kernel), memory_mib
        self.machine = machine or machines.own()
        shown = [os.path.realpath(path) for path in shown]
        own_root = self.machine.root == pathlib.Path("/")
        self.shown = [path for path in shown if own_root and is_hidden(path)]
        self.shared = {} if own_root else {f"shared{at}": path for at, path in enumerate(outermost(shown))}

    def run(self, command, env=None, cwd="/", seconds=600, follow=None):
        """Runs a command; returns its Outcome or raises GuestFailed. follow(text) receives its output as it
        comes."""
        with tempfile.TemporaryDirectory(prefix="cgibridge-guest-") as folder:
            folder = pathlib.Path(folder)
            exchange = folder / "exchange"
            exchange.mkdir()
            words = [f"{name}={value}" for name, value in (env or {}).items()]
            (exchange / "start").write_text(START.format(
                cwd=shlex.quote(cwd), env=shlex.join(words), command=shlex.join(command),
                exchange=EXCHANGE, busybox=BUSYBOX))
            (folder / "initramfs").write_bytes(self._initramfs())
            self._boot(folder, exchange, time.monotonic() + seconds, follow or (lambda text: None))
            return outcome_of(folder, exchange)

    def _boot(self, folder, exchange, deadline, follow):
        qemu = subprocess.Popen(self._qemu(folder, exchange), stdin=subprocess.DEVNULL,
                                stdout=(folder / "qemu").open("wb"), stderr=subprocess.STDOUT,
                                preexec_fn=self._confine)
        heard = 0
        try:
            while True:
                ended = qemu.poll() is not None
                text = read(exchange / "output")
                follow(text[heard:])
                heard = len(text)
                if ended:
                    return
                if time.monotonic() > deadline:
                    raise GuestFailed("the guest took too long; " + last_words(folder, exchange))
                time.sleep(0.2)
        finally:
            if qemu.poll() is None:
                qemu.kill()
            qemu.wait()

    def _qemu(self, folder, exchange):
        return [self.machine.qemu, "-nodefaults", "-nographic", "-no-reboot", *self.machine.words,
                "-accel", "tcg,thread=multi,tb-size=256", "-smp", "2", "-m", str(self.memory_mib),
                "-kernel", str(self.kernel / "vmlinuz"), "-initrd", str(folder / "initramfs"),
                # A guest that panics ends. Protection against spying neighbours costs half the time here,
                # where there are no neighbours.
                "-append", f"console={self.machine.console} quiet panic=-1 mitigations=off nokaslr",
                "-serial", f"file:{folder}/console",
                *share("host", self.machine.root), *share("exchange", exchange, access="rw"),
                *(word for tag, path in self.shared.items() for word in share(tag, path))]

    def _confine(self):
        most = (self.memory_mib + 3000) << 20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def _initramfs(self):
        order = self._modules_in_order()
        self._make_mount_points()
        files = {name: (0o40755, b"") for name in ("bin", "dev", "modules")}
        files["bin/busybox"] = 0o100755, self.machine.busybox.read_bytes()
        files["init"] = 0o100755, INIT.encode()
        files["shown"] = 0o100644, "".join(path + "\n" for path in self.shown).encode()
        files["shared"] = 0o100644, "".join(f"{tag} {path}\n" for tag, path in self.shared.items()).encode()
        files["modules/order"] = 0o100644, " ".join(order).encode()
        for module in order:
            files[f"modules/{module}.ko"] = 0o100644, self._module(module)
        return archive(files)

    def _make_mount_points(self):
        """Inside the guest its root is read-only."""
        for path in self.shared.values():
            if not is_hidden(path):
                (self.machine.root / path[1:]).mkdir(parents=True, exist_ok=True)

    def _module(self, name):
        """Names of module files contain - or _, depending on their author."""
        for spelled in (name, name.replace("_", "-")):
            path = self.kernel / "modules" / f"{spelled}.ko"
            if path.exists():
                return path.read_bytes()
        raise GuestFailed(f"{self.kernel} has no module {name}")

    def _modules_in_order(self):
        order = []

        def add(name):
            needs = re.search(rb"\0depends=([^\0]*)\0", self._module(name))
            for needed in needs[1].decode().split(",") if needs and needs[1] else []:
                add(needed.replace("-", "_"))
            if name not in order:
                order.append(name)
        for name in MODULES:
            add(name)
        return order


def share(tag, path, access="ro"):
    """qemu's words that let the guest mount a folder."""
    more = ",readonly=on,multidevs=remap" if access == "ro" else ""
    return ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none{more}"]


def outermost(paths):
    """Without those that are below others of them."""
    return [path for path in sorted(set(paths)) if not any(path.startswith(f"{other}/") for other in paths)]


def is_hidden(path):
    return any(path.startswith(folder + "/") for folder in WRITABLE)


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


def last_words(folder, exchange):
    return "\n".join(f"{path.name}: {read(path)[-3000:]}"
                     for path in (folder / "qemu", folder / "console", exchange / "output"))


def outcome_of(folder, exchange):
    code = read(exchange / "code").strip()
    if not code:
        raise GuestFailed("the guest ended without an answer; " + last_words(folder, exchange))
    files = {path.name: path.read_bytes() for path in exchange.iterdir()
             if path.is_file() and path.name not in ("start", "code", "output")}
    return Outcome(int(code), read(exchange / "output"), files)
