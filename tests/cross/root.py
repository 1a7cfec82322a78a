"""The root folder of another processor: Debian's packages, unpacked. Nothing in it is run or configured, so
this needs neither root nor an emulator. A cross compiler takes it as its sysroot, and a guest as its root.

    make(folder, ARCHITECTURES["arm64"])     folder/root, folder/toolchain.cmake
    fetch_kernel(folder, architecture, "trixie")     folder/kernel-trixie: vmlinuz, modules/
"""

import dataclasses
import pathlib
import re
import shutil
import subprocess

MIRROR = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# What the bridge and its unit tests are built with: [all] and [unit] of tests/packages.
LIBRARIES = ["libc6-dev", "libstdc++-12-dev", "libuv1-dev", "libdw-dev", "libseccomp-dev", "libfcgi-dev",
             "libtoml11-dev", "libspdlog-dev", "libfmt-dev", "libcli11-dev", "nlohmann-json3-dev",
             "libaugeas-dev", "libgtest-dev"]
# What runs in a guest.
PROGRAMS = ["busybox-static", "perl", "python3", "python3-pytest", "gcc", "g++", "procps", "iproute2",
            "openssl", "libcgi-pm-perl", "libdbi-perl", "libdbd-sqlite3-perl", "sqlite3", "ruby", "tcl",
            "nodejs", "gawk", "ksh93u+m", "zsh", "lua5.4", "libfaketime", "libjemalloc2", "strace"]
MODULES = ["fs/9p", "net/9p", "fs/netfs", "fs/fscache", "drivers/virtio"]


@dataclasses.dataclass(frozen=True)
class Architecture:
    debian: str             # its name in Debian
    triple: str             # its compiler's
    qemu: str               # emulates one program of it
    processor: str          # CMake's name
    release: str = "bookworm"
    packages: tuple = ()


ARCHITECTURES = {
    "arm64": Architecture("arm64", "aarch64-linux-gnu", "qemu-aarch64-static", "aarch64",
                          packages=(*LIBRARIES, *PROGRAMS)),
    "armhf": Architecture("armhf", "arm-linux-gnueabihf", "qemu-arm-static", "arm",
                          packages=tuple(LIBRARIES)),
    # Debian has it since 13.
    "riscv64": Architecture("riscv64", "riscv64-linux-gnu", "qemu-riscv64-static", "riscv64", "trixie",
                            tuple(LIBRARIES)),
}

TOOLCHAIN = """set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {processor})
set(CMAKE_C_COMPILER {triple}-gcc)
set(CMAKE_CXX_COMPILER {triple}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE {triple})
set(CMAKE_SYSROOT {root})
set(CMAKE_CROSSCOMPILING_EMULATOR {qemu} -L {root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# The root's libraries may need a newer libstdc++ than the compiler has; the root has that, too.
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,--allow-shlib-undefined)
set(ENV{{PKG_CONFIG_LIBDIR}} {root}/usr/lib/{triple}/pkgconfig:{root}/usr/share/pkgconfig)
set(ENV{{PKG_CONFIG_SYSROOT_DIR}} {root})
"""


def make(folder, architecture):
    """What is there already stays."""
    folder = pathlib.Path(folder).resolve()
    root = folder / "root"
    if not (root / "etc/passwd").exists():
        shutil.rmtree(root, ignore_errors=True)
        for name in ("bin", "sbin", "lib"):
            (root / "usr" / name).mkdir(parents=True)
            (root / name).symlink_to(f"usr/{name}")
        archives = download(folder / "apt", architecture, architecture.release,
                            ["install", "?essential", *architecture.packages])
        for package in archives:
            unpack(package, root, ["--keep-directory-symlink"])
        shutil.rmtree(folder / "apt")
        finish(root)
    (folder / "toolchain.cmake").write_text(TOOLCHAIN.format(root=root, **dataclasses.asdict(architecture)))


def finish(root):
    """What the packages would have done when they were configured."""
    for name in ("passwd", "group"):
        shutil.copy(root / f"usr/share/base-passwd/{name}.master", root / "etc" / name)
    if (root / "usr/bin/mawk").exists() and not (root / "usr/bin/awk").exists():
        (root / "usr/bin/awk").symlink_to("mawk")


def fetch_kernel(folder, architecture, release):
    """Returns its folder; what is there already stays."""
    folder = pathlib.Path(folder).resolve() / f"kernel-{release}"
    if not (folder / "vmlinuz").exists():
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "modules").mkdir(parents=True)
        apt = folder / "apt"
        image = f"linux-image-{architecture.debian}"
        found = apt_get(apt, architecture, release, ["depends", image], "apt-cache")
        name = re.search(r"Depends: (linux-image-[0-9]\S*)", found)[1]
        (package,) = download(apt, architecture, release, ["download", name])
        unpack(package, apt, ["--wildcards", "./boot/vmlinuz-*", "*.ko*"])
        for module in apt.glob("**/*.ko*"):
            if any(f"/kernel/{part}/" in str(module) for part in MODULES):
                shutil.move(module, folder / "modules")
        for module in (folder / "modules").glob("*.xz"):
            subprocess.run(["xz", "-d", module], check=True)
        # This comes last, because it shows that everything is there.
        next(apt.glob("boot/vmlinuz-*")).rename(folder / "vmlinuz")
        shutil.rmtree(apt)
    return folder


def unpack(package, into, words):
    tar = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", into, *words], stdin=tar.stdout, check=True)
    tar.stdout.close()
    if tar.wait() != 0:
        raise RuntimeError(f"{package} cannot be unpacked")


# ---- apt, beside this machine's own: lists and packages of another processor ----

def download(state, architecture, release, words):
    """The files of these packages, and of all that they need."""
    apt_get(state, architecture, release, ["--download-only", "-y", "--no-install-recommends", *words]
            if words[0] == "install" else words)
    return sorted([*state.glob("cache/archives/*.deb"), *state.glob("*.deb")])


def apt_get(state, architecture, release, words, tool="apt-get"):
    settings = {"Dir::State": state / "state", "Dir::State::status": state / "status",
                "Dir::Cache": state / "cache", "Dir::Etc::sourcelist": state / "sources.list",
                "Dir::Etc::sourceparts": "-", "APT::Architecture": architecture.debian,
                "APT::Architectures": architecture.debian, "APT::Sandbox::User": "root"}
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def run(tool, words):
        done = subprocess.run([tool, *options, "-q", *words], cwd=state, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{tool} {' '.join(words)}: {done.stderr[-2000:]}")
        return done.stdout
    if not (state / "status").exists():
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (state / folder).mkdir(parents=True)
        (state / "status").touch()
        (state / "sources.list").write_text(f"deb [signed-by={KEYS}] {MIRROR} {release} main\n")
        run("apt-get", ["update"])
    return run(tool, words)
