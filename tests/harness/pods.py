"""Containers as an engine makes them, by runc, without an image: the root is this machine's, with the
installed bridge and some programs laid over it, read-only. Several that share a network are a pod."""

import contextlib
import json
import os
import shutil
import subprocess

from harness.bridge import BUILD, environment
from harness.processes import wait_until

ENGINE_PROFILE = "/usr/share/containers/seccomp.json"  # Podman's
# What Docker's own profile refuses in addition, without CAP_SYS_ADMIN and the like.
REFUSED_BY_DOCKER = ("unshare", "setns", "mount", "umount2", "pivot_root", "clone3", "keyctl", "kcmp",
                     "userfaultfd")
FOLDERS = [
    ("/proc", "proc", "proc", []), ("/dev", "tmpfs", "tmpfs", ["nosuid", "mode=755", "size=64k"]),
    ("/dev/shm", "tmpfs", "shm", ["nosuid", "noexec", "nodev", "mode=1777"]),
    ("/sys", "sysfs", "sysfs", ["nosuid", "noexec", "nodev", "ro"]),
]


def filter_of(profile):
    """An engine's profile, as it applies to a container without capabilities on this machine, for runc."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine)
    rules = []
    for rule in profile["syscalls"]:
        includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
        if includes.get("caps") or machine not in includes.get("arches", [machine]) \
                or machine in excludes.get("arches", []):
            continue
        kept = {name: rule[name] for name in ("names", "action", "args") if rule.get(name)}
        if rule["action"] == "SCMP_ACT_ERRNO":
            kept["errnoRet"] = rule.get("errnoRet", 1)
        rules.append(kept)
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"] if machine == "amd64"
            else ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"], "syscalls": rules}


def docker_profile():
    with open(ENGINE_PROFILE, encoding="utf-8") as file:
        profile = json.load(file)
    rules = [{**rule, "names": [name for name in rule["names"] if name not in REFUSED_BY_DOCKER]}
             for rule in profile["syscalls"]]
    return {**profile, "defaultErrnoRet": 1, "syscalls": [rule for rule in rules if rule["names"]]}


def why_not(folder):
    """Why no container can be made here; empty: one can."""
    if os.getuid() != 0:
        return "containers need root"
    for tool in ("runc", "ip"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    if not os.path.exists(ENGINE_PROFILE):
        return f"there is no {ENGINE_PROFILE}"
    try:
        with Pod(folder / "probe") as pod:
            tried = pod.run("probe", ["/usr/bin/true"], uid=65534)
            code = tried.process.wait(30)
            return f"no container can be made here: {tried.output()}" if code != 0 else ""
    except subprocess.CalledProcessError as error:
        return f"no container can be made here: {error.stderr}"


class Container:
    def __init__(self, pod, name, process, log):
        self.pod, self.name, self.process, self.log = pod, name, process, log

    def output(self):
        return self.log.read_text(errors="replace")

    def execute(self, *words, **options):
        """Runs a command in it, as a probe or a hook does."""
        return self.pod.runc("exec", self.name, *words, **options)

    def signal(self, name):
        self.pod.runc("kill", self.name, name, check=True)


class Pod:
    """A network with only a loopback, and the containers in it. Ends them all."""

    def __init__(self, folder):
        self.folder = folder
        self.name = f"cgibridge-pod-{os.getpid()}-{folder.name}"
        self.image = folder / "image"
        self.containers = []
        self.cleanup = contextlib.ExitStack()

    def __enter__(self):
        self.folder.mkdir()
        # A file system of its own: layers may not overlap with the machine's root.
        run("mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", self.folder)
        self.cleanup.callback(shutil.rmtree, self.folder)
        self.cleanup.callback(run, "umount", self.folder)
        self.image.mkdir()
        ip("netns", "add", self.name)
        self.cleanup.callback(ip, "netns", "delete", self.name)
        ip("-n", self.name, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for container in self.containers:
            if container.process.poll() is None:
                self.runc("kill", container.name, "KILL")
                container.process.wait(30)
            self.runc("delete", "--force", container.name)
        self.cleanup.close()

    def runc(self, *words, **options):
        return subprocess.run(["runc", "--root", self.folder / "state", *map(str, words)],
                              capture_output=True, text=True, timeout=90, **options)

    def install_bridge(self):
        """As its package does."""
        subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr"], check=True,
                       capture_output=True, env=environment(DESTDIR=str(self.image)))

    def run(self, name, words, uid, volumes=(), profile=None, devices=()):
        """volumes: (folder of the machine or "", place in the container); without a folder it is an empty
        one of its own. Returns a Container that has started, or ended at once."""
        bundle = self.folder / name
        for part in ("root", "above", "work"):
            (bundle / part).mkdir(parents=True)
        config = self.config(words, uid, profile, volumes, devices)
        (bundle / "config.json").write_text(json.dumps(config))
        mount = f"lowerdir={self.image}:/,upperdir={bundle}/above,workdir={bundle}/work"
        log = bundle / "log"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                ["unshare", "-m", "--propagation", "private", "sh", "-c",
                 'mount -t overlay overlay -o "$1" "$2/root" && exec runc --root "$3" run --bundle "$2" "$4"',
                 "sh", mount, bundle, self.folder / "state", name], stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, env=environment())
        container = Container(self, name, process, log)
        self.containers.append(container)
        wait_until(lambda: process.poll() is not None or self.is_running(name), f"{name} has started")
        return container

    def is_running(self, name):
        state = self.runc("state", name)
        return state.returncode == 0 and json.loads(state.stdout)["status"] == "running"

    def config(self, words, uid, profile, volumes, devices):
        mounts = [{"destination": place, "type": kind, "source": source, "options": options}
                  for place, kind, source, options in FOLDERS]
        for source, place in volumes:
            kind = {"type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}
            if source:
                kind = {"type": "bind", "source": str(source), "options": ["rbind", "rw"]}
            mounts.append({"destination": place, **kind})
        mounts += [{"destination": path, "type": "bind", "source": path, "options": ["bind"]}
                   for path in devices]
        linux = {"namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")]
                 + [{"type": "network", "path": f"/run/netns/{self.name}"}],
                 "maskedPaths": ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
                 "readonlyPaths": ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]}
        if profile:
            linux["seccomp"] = filter_of(profile)
        if devices:
            linux["resources"] = {"devices": [{"allow": True, "access": "rwm"}]}
        return {"ociVersion": "1.0.0", "hostname": "pod", "root": {"path": "root", "readonly": True},
                "mounts": mounts, "linux": linux,
                "process": {"user": {"uid": uid, "gid": uid}, "args": list(map(str, words)), "cwd": "/",
                            "env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], "noNewPrivileges": True,
                            "capabilities": {"bounding": [], "effective": [], "permitted": []},
                            "rlimits": []}}

    def get(self, target, port=8080, seconds=30):
        """Returns the status and the body of what a client in the pod's network gets; status 0: nothing."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.name, "curl", "-s", "--max-time", str(seconds), "-w",
             "\n%{http_code}", f"http://127.0.0.1:{port}{target}"], capture_output=True, text=True)
        body, _, status = done.stdout.rpartition("\n")
        return int(status or 0), body


def run(*words):
    subprocess.run([*map(str, words)], check=True, capture_output=True, text=True)


def ip(*words):
    run("ip", *words)
