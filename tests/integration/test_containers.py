"""config/container and config/kubernetes/cgibridge.yaml: a pod of the manifest, made by runc, with what its
security context leaves."""

import json
import os
import re
import shutil
import subprocess
import threading

import pytest

from harness import pods, programs
from harness.fastcgi import Peer
from harness.processes import wait_until
from harness.site import PROJECT

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")

MANIFEST = PROJECT / "config" / "kubernetes" / "cgibridge.yaml"
RECIPE = PROJECT / "config" / "container" / "Containerfile"
SETTINGS = PROJECT / "config" / "container" / "config.toml"
ADDS_THE_CALL = PROJECT / "config" / "container" / "seccomp-with-userfaultfd"


def objects():
    with open(MANIFEST, encoding="utf-8") as file:
        return {one["kind"]: one for one in yaml.safe_load_all(file)}


def container_of(name):
    containers = objects()["Deployment"]["spec"]["template"]["spec"]["containers"]
    [found] = [one for one in containers if one["name"] == name]
    return found


@pytest.fixture
def pod(site):
    reason = pods.why_not(site.folder)
    if reason:
        pytest.skip(reason)
    with pods.Pod(site.folder / "pod") as made:
        made.install_bridge()
        yield made


def install(pod, scripts):
    """Programs, where the image has them."""
    place = pod.image / "usr" / "lib" / "cgi-bin"
    place.mkdir(parents=True, exist_ok=True)
    for script in scripts:
        shutil.copy(script, place)


def settings_into(pod, text, place="etc/cgibridge/config.toml"):
    path = pod.image / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def start(pod, name, volumes, profile=None):
    """A container of the manifest."""
    wanted = container_of(name)
    command = wanted.get("command") or ["/usr/bin/cgibridge"]
    context = wanted["securityContext"]
    assert context["readOnlyRootFilesystem"] and context["capabilities"] == {"drop": ["ALL"]}
    assert not context["allowPrivilegeEscalation"]
    return pod.run(name, command + wanted.get("args", []), context["runAsUser"], volumes, profile)


def probe_says(pod):
    return pod.get(container_of("web")["readinessProbe"]["httpGet"]["path"])[0]


def start_both(pod, profile=None, change=lambda text: text):
    data = objects()["ConfigMap"]["data"]
    settings_into(pod, change(data["config.toml"]))
    settings_into(pod, data["nginx.conf"], "etc/nginx/pod.conf")
    shared = pod.folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    volumes = {}
    for name in ("bridge", "web"):
        mounts = container_of(name)["volumeMounts"]
        places = [mount["mountPath"] for mount in mounts if "subPath" not in mount]
        volumes[name] = [(shared if place == "/run/cgibridge" else "", place) for place in places]
    bridge = start(pod, "bridge", volumes["bridge"], profile)
    web = start(pod, "web", volumes["web"], profile)
    wait_until(lambda: probe_says(pod) == 200, lambda: f"ready: {bridge.output()}{web.output()}", 30)
    return bridge, web


def status_of(bridge):
    command = container_of("bridge")["livenessProbe"]["exec"]["command"]
    done = bridge.execute(*command, check=True)
    return json.loads(done.stdout)


def test_a_pod_answers_and_is_warm(site, pod):
    install(pod, [programs.report(site), site.sh("writes", """
        echo Content-Type: text/plain; echo
        id -u; touch /usr/lib/cgi-bin/new /run/new 2>&1; touch /tmp/new && echo written
        """)])
    warm = 'prewarm = ["/usr/lib/cgi-bin/report"]'
    bridge, web = start_both(pod, pods.docker_profile(), lambda text: text.replace("prewarm = []", warm))
    for n in range(20):
        status, body = pod.get(f"/cgi-bin/report?n={n}")
        assert status == 200
        assert json.loads(body)["env"]["QUERY_STRING"] == f"n={n}"
    _, body = pod.get("/cgi-bin/writes")
    assert body.splitlines()[0] == "10001" and body.count("Read-only file system") == 2, body
    assert body.endswith("written\n")
    [entry] = [one for one in status_of(bridge)["programs"] if one["path"].endswith("report")]
    assert entry["arms"]["rewind"]["requests"] == 20, entry
    for container in (bridge, web):
        assert container.process.poll() is None
        assert " error " not in container.output(), container.output()


def test_what_the_end_of_a_pod_costs(site, pod):
    """Both hooks run at once, as the kubelet has it, and then both get SIGTERM."""
    install(pod, [programs.hello(site), site.sh("slow", """
        sleep 4; printf 'Content-Type: text/plain\\n\\nwhole\\n'
        """)])
    bridge, web = start_both(pod)
    hooks = {name: container_of(name)["lifecycle"]["preStop"]["exec"]["command"]
             for name in ("bridge", "web")}
    announced = int(re.search(r"--after (\d+)s", " ".join(hooks["bridge"]))[1])
    waits = int(re.search(r"sleep (\d+) &&", hooks["web"][-1])[1])
    assert waits > announced + 1
    grace = objects()["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert 'drain_timeout = "40s"' in objects()["ConfigMap"]["data"]["config.toml"]
    assert grace >= announced + 40
    # The same in a shorter time.
    hooks["bridge"] = [word.replace(f"{announced}s", "2s") for word in hooks["bridge"]]
    hooks["web"][-1] = hooks["web"][-1].replace(f"sleep {waits} ", "sleep 4 ")

    assert pod.get("/cgi-bin/hello") == (200, "hello\n")
    ended = []

    def end(container, hook):
        container.execute(*hook)
        if container.process.poll() is None:
            pod.runc("kill", container.name, "TERM")
        ended.append(container.process.wait(60))
    threads = [threading.Thread(target=end, args=(one, hooks[one.name])) for one in (bridge, web)]
    for thread in threads:
        thread.start()
    wait_until(lambda: probe_says(pod) == 503, "the probe says that it leaves", 10)
    assert pod.get("/cgi-bin/hello") == (200, "hello\n"), "what still comes is answered"
    answers = []
    slow = threading.Thread(target=lambda: answers.append(pod.get("/cgi-bin/slow")))
    slow.start()
    slow.join(60)
    assert answers == [(200, "whole\n")]
    for thread in threads:
        thread.join(90)
    assert ended == [0, 0], bridge.output() + web.output()


# What tells a rewinding worker which pages have changed.
def way_of(site, pod, profile, devices=()):
    install(pod, [programs.hello(site)])
    settings_into(pod, SETTINGS.read_text())
    shared = pod.folder / "shared"
    shared.mkdir(mode=0o777)
    shared.chmod(0o777)
    bridge = pod.run("bridge", ["/usr/bin/cgibridge", *container_of("bridge")["args"]], 10001,
                     [(shared, "/run/cgibridge"), ("", "/run/cgibridge-control"), ("", "/tmp")], profile,
                     devices)
    wait_until(lambda: os.path.exists(shared / "fastcgi.sock") or bridge.process.poll() is not None,
               "it listens")
    found = {}

    def is_known():
        with Peer(str(shared / "fastcgi.sock")) as peer:
            assert peer.request("/usr/lib/cgi-bin/hello").body == b"hello\n", bridge.output()
        [entry] = status_of(bridge)["programs"]
        found.update(entry["rewind"] or {})
        return found.get("tracking", "none") != "none"
    wait_until(is_known, lambda: f"a rewind was counted: {bridge.output()}", 30)
    return found["tracking"]


def has_scan():
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(release[1]), int(release[2])) >= (6, 7)


def test_dockers_filter_leaves_a_way_to_rewind(site, pod):
    assert way_of(site, pod, pods.docker_profile()) in ("compare", "soft-dirty")


@pytest.mark.skipif(not has_scan(), reason="this kernel has no PAGEMAP_SCAN")
def test_a_profile_with_one_call_more_leaves_the_best(site, pod, tmp_path):
    docker = tmp_path / "docker.json"
    docker.write_text(json.dumps(pods.docker_profile()))
    made = subprocess.run([ADDS_THE_CALL, docker], capture_output=True, text=True, check=True)
    profile = json.loads(made.stdout)
    assert len(profile["syscalls"]) == len(pods.docker_profile()["syscalls"]) + 1
    assert way_of(site, pod, profile) == "scan"


@pytest.mark.skipif(not has_scan(), reason="this kernel has no PAGEMAP_SCAN")
@pytest.mark.skipif(not os.path.exists("/dev/userfaultfd"), reason="this machine has no /dev/userfaultfd")
def test_the_device_does_it_without_the_call(site, pod):
    mode = os.stat("/dev/userfaultfd").st_mode
    os.chmod("/dev/userfaultfd", 0o666)
    try:
        assert way_of(site, pod, pods.docker_profile(), ["/dev/userfaultfd"]) == "scan"
    finally:
        os.chmod("/dev/userfaultfd", mode & 0o777)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"syscalls": 1}', None])
def test_a_profile_that_is_none_is_named(tmp_path, text):
    path = tmp_path / "profile.json"
    if text is not None:
        path.write_text(text)
    done = subprocess.run([ADDS_THE_CALL, path], capture_output=True, text=True)
    assert done.returncode != 0 and not done.stdout and str(path) in done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_files_say_of_each_other():
    recipe = RECIPE.read_text()
    user = str(container_of("bridge")["securityContext"]["runAsUser"])
    assert f"USER {user}" in recipe and f"--uid {user} " in recipe
    words = json.loads(re.search(r"^CMD (.*)$", recipe, re.M)[1])
    assert words == container_of("bridge")["args"]
    mounted = {mount["mountPath"] for mount in container_of("bridge")["volumeMounts"]}
    assert words[-1] in mounted
    kinds = objects()
    labels = kinds["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert kinds["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert kinds["Service"]["spec"]["selector"] == labels
    assert kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert kinds["PodDisruptionBudget"]["spec"]["minAvailable"] < kinds["Deployment"]["spec"]["replicas"]
    volumes = {one["name"] for one in kinds["Deployment"]["spec"]["template"]["spec"]["volumes"]}
    for name in ("bridge", "web"):
        assert {mount["name"] for mount in container_of(name)["volumeMounts"]} <= volumes


def test_the_settings_of_both_are_right(site, tmp_path):
    data = objects()["ConfigMap"]["data"]["config.toml"]
    for name, text in (("manifest", data), ("image", SETTINGS.read_text())):
        path = tmp_path / f"{name}.toml"
        path.write_text(text.replace("/run/cgibridge", "/tmp/x"))
        assert "no errors" in site.cgibridge("config", "check", path).stdout


def test_the_recipe_installs_what_a_package_of_the_bridge_is_built_with():
    recipe = RECIPE.read_text().partition("FROM debian:13-slim\nCOPY")[0]
    words = re.search(r"--no-install-recommends ([^&]*?)\nRUN", recipe, re.S)[1]
    installed = set(words.replace("\\", "").split())
    control = (PROJECT / "config" / "debian" / "control").read_text()
    needed = re.search(r"^Build-Depends:(.*?)^\S", control, re.S | re.M)[1]
    names = {re.sub(r"\(.*?\)", "", one).split("|")[0].strip() for one in needed.split(",")} - {""}
    names.discard("debhelper-compat")
    assert "libuv1-dev" in names and names <= installed | {"g++"}, names - installed
    assert {"build-essential", "debhelper", "dpkg-dev"} <= installed
