"""Debian or Ubuntu in a folder: a root made by debootstrap, and commands in it. Needs root."""

import pathlib
import shlex
import shutil
import subprocess

MIRROR = "http://deb.debian.org/debian"
UBUNTU_MIRROR = "http://archive.ubuntu.com/ubuntu"
UBUNTU = {"noble", "questing", "resolute"}  # 24.04, 25.10, 26.04
UBUNTU_KEYRING = pathlib.Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

# Run in a separate mount and process namespace; everything in it ends with its first process, and no mount
# remains.
MOUNTS = """
mount --bind "$0" "$0"  # as a machine's root is a mount: unshare(1) makes it private
mount -t proc proc "$0/proc"
mount -t sysfs -o ro sysfs "$0/sys"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$0/dev/pts"
mkdir -p "$0/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
exec env -i HOME=/root PATH=%s LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \\
  chroot "$0" setsid -w /bin/sh -c "$1"
""" % PATH


def make(root, release):
    """Makes a minimal root of a release, if it does not exist yet, with this machine's network settings."""
    root = pathlib.Path(root)
    if not (root / "etc/debian_version").exists():
        subprocess.run(["debootstrap", "--variant=minbase", *source_of(release, str(root))], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    # No package brings it, and nothing else says what localhost is without a network.
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    for file in pathlib.Path("/etc/apt/apt.conf.d").glob("99*"):
        shutil.copy(file, root / "etc/apt/apt.conf.d")


def source_of(release, root):
    """debootstrap's words for a release. It may not know Ubuntu's newest, which are made as gutsy was.
    Without Ubuntu's keyring the first packages are taken unchecked; apt has the keyring then."""
    if release not in UBUNTU:
        return [release, root, MIRROR]
    trust = [f"--keyring={UBUNTU_KEYRING}"] if UBUNTU_KEYRING.exists() else ["--no-check-gpg"]
    return [*trust, "--components=main,universe", release, root, UBUNTU_MIRROR,
            "/usr/share/debootstrap/scripts/gutsy"]


def add_user(root, name):
    """An ordinary user, whose home nobody else may enter; stays as it is if it exists."""
    inside(root, f"id {name} >/dev/null 2>&1 || useradd --create-home --shell /bin/bash {name}; "
                 f"chmod 0700 /home/{name}", check=True)


def as_user(name, command):
    """The line of shell that runs this one as a user, with the user's environment."""
    return (f"exec setpriv --reuid={name} --regid={name} --init-groups "
            f"env HOME=/home/{name} USER={name} LOGNAME={name} /bin/sh -c {shlex.quote(command)}")


def inside(root, command, network=True, **options):
    """Runs a line of shell in the root, as root; returns what subprocess.run() returns."""
    namespaces = ["--mount", "--pid", *([] if network else ["--net"])]
    return subprocess.run(["unshare", *namespaces, "--fork", "--kill-child", "--propagation", "private",
                           "/bin/sh", "-ec", MOUNTS, str(root), command],
                          stdin=subprocess.DEVNULL, text=True, errors="replace", **options)
