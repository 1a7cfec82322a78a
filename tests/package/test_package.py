"""The Debian package: what is in it, and that its bridge runs from where it was unpacked.
`tests/package/in-a-machine` installs it."""

import os
import re
import shutil
import subprocess

import pytest

from harness.bridge import BUILD, environment
from harness.modules import RUNNER, need_runner
from harness.site import PROJECT

DEBIAN = PROJECT / "config" / "debian"
SHELLS = {"bash": "usr/share/bash-completion/completions/cgibridge",
          "zsh": "usr/share/zsh/vendor-completions/_cgibridge",
          "fish": "usr/share/fish/vendor_completions.d/cgibridge.fish"}


def output_of(*command, expect=0, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          env=environment(), **options)
    assert done.returncode == expect, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    printed = output_of(DEBIAN / "build-package", "--build", BUILD, folder)
    (made,) = folder.glob("cgibridge_*.deb")
    assert printed.strip() == str(made)
    return made


@pytest.fixture(scope="module")
def root(package, tmp_path_factory):
    """Where it is unpacked."""
    folder = tmp_path_factory.mktemp("root")
    output_of("dpkg-deb", "-x", package, folder)
    return folder


@pytest.fixture
def hello(tmp_path):
    program = tmp_path / "hello.sh"
    shutil.copy(PROJECT / "examples" / "hello" / "hello.sh", program)
    return program


def test_lintian_finds_nothing(package):
    assert output_of("lintian", "--allow-root", "--fail-on", "error,warning,info",
                     "--info", package) == ""


def test_what_runs_webassembly_is_a_package_of_its_own(package):
    found = list(package.parent.glob("cgibridge-wasm_*.deb"))
    assert bool(found) == RUNNER.exists()
    need_runner()
    assert output_of("lintian", "--allow-root", "--fail-on", "error,warning,info", "--info", found[0]) == ""
    files = [line.split()[-1] for line in output_of("dpkg-deb", "-c", found[0]).splitlines()]
    assert "./usr/lib/cgibridge/adapters/cgibridge-wasm" in files
    assert "cgibridge (=" in output_of("dpkg-deb", "-f", found[0], "Depends")


def is_shipped(path):
    return path.suffix in (".so", ".pm", ".py", ".js", ".rb", ".tcl") \
        or path.name in ("cgibridge-static", "cgibridge-step-down")


def test_what_is_in_it(root):
    files = {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}
    parts = "usr/lib/cgibridge/"
    adapters = {path.removeprefix(parts + "adapters/") for path in files
                if path.startswith(parts + "adapters/")}
    assert adapters == {str(path.relative_to(BUILD / "adapters")) for path in (BUILD / "adapters").rglob("*")
                        if path.is_file() and is_shipped(path)}
    files = {path for path in files if not path.startswith(parts + "adapters/")}
    wanted = {"usr/bin/cgibridge", "etc/cgibridge/config.toml", "etc/logrotate.d/cgibridge",
              "etc/nginx/snippets/cgibridge.conf", "etc/apache2/conf-available/cgibridge.conf",
              "etc/lighttpd/conf-available/50-cgibridge.conf", "lib/systemd/system/cgibridge.service",
              "lib/systemd/system/cgibridge.socket", "usr/lib/sysusers.d/cgibridge.conf",
              "usr/lib/tmpfiles.d/cgibridge.conf", "usr/share/man/man1/cgibridge.1.gz",
              "usr/share/man/man5/cgibridge-config.5.gz", parts + "cgibridge-stack",
              "usr/share/lintian/overrides/cgibridge", *SHELLS.values()}
    there = {path.removeprefix("usr/") if path.startswith("usr/lib/systemd/") else path for path in files}
    assert {path for path in there if not path.startswith("usr/share/doc/cgibridge/")} == wanted


def test_what_an_operator_may_change_stays_at_an_update(package):
    listed = output_of("dpkg-deb", "--info", package, "conffiles").split()
    assert "/etc/cgibridge/config.toml" in listed
    assert all(path.startswith("/etc/") for path in listed)


def test_executables_are_hardened_stripped_and_small(root):
    binary = root / "usr/bin/cgibridge"
    assert "DYN" in output_of("readelf", "-h", binary)
    assert re.search(r"FLAGS_1.*NOW.*PIE", output_of("readelf", "-d", binary))
    assert "GNU_RELRO" in output_of("readelf", "-lW", binary)
    assert ".symtab" not in output_of("readelf", "-SW", binary)
    assert "__stack_chk_fail" in output_of("readelf", "--dyn-syms", "-W", binary)
    if os.uname().machine == "x86_64":
        assert output_of("objdump", "-d", "-j", ".text", "--no-show-raw-insn", binary).count("endbr64") > 1000
    total = sum(path.stat().st_size for path in (root / "usr").rglob("*") if path.is_file())
    assert total < 10 << 20


def test_the_unpacked_bridge_finds_its_parts(root, hello):
    command = (root / "usr/bin/cgibridge", "try", hello, "--mode", "persistent")
    assert "Hello, world!" in output_of(*command)
    report = output_of(root / "usr/bin/cgibridge", "check", hello, "--runs", "2", "--json")
    assert '"level": "linked"' in report.replace('":"', '": "')


def test_its_settings_are_right(root):
    shown = output_of(root / "usr/bin/cgibridge", "config", "check", "--config",
                      root / "etc/cgibridge/config.toml")
    assert "no errors" in shown


def test_the_service_is_closed_as_far_as_programs_allow():
    output_of("systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager",
              PROJECT / "config" / "systemd" / "cgibridge.service")


@pytest.mark.parametrize("page", ["man1/cgibridge.1", "man5/cgibridge-config.5"])
def test_manual_pages_are_shown_without_a_warning(root, page):
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z",
                           str(root / "usr/share/man" / f"{page}.gz")], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, env=environment(MANROFFSEQ="", MANWIDTH="80"))
    assert (done.returncode, done.stderr) == (0, "")


def completed(root, *words):
    """What bash offers after these words."""
    script = f'source "{root / SHELLS["bash"]}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cgibridge; ' \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    return set(output_of("bash", "-c", script, "bash", *words).split())


def test_bash_completes(root):
    assert {"serve", "status", "config", "check"} <= completed(root, "cgibridge", "")
    assert completed(root, "cgibridge", "st") == {"status"}
    assert {"check", "show", "reference"} == completed(root, "cgibridge", "config", "")
    assert {"--json", "--watch"} <= completed(root, "cgibridge", "status", "--")
    assert completed(root, "cgibridge", "try", "a.cgi", "--mode", "") == {"classic", "persistent"}
    assert "classic" in completed(root, "cgibridge", "mode", "guestbook", "")
    assert completed(root, "cgibridge", "config", "check", "--c") == {"--config"}


@pytest.mark.parametrize("shell", SHELLS)
def test_shells_can_read_their_completion(root, shell):
    output_of(shell, "-n", root / SHELLS[shell])


def test_zsh_and_fish_complete(root):
    commands = output_of("fish", "--no-config", "-c",
                         f"source {root / SHELLS['fish']}; complete -C 'cgibridge st'")
    assert commands.split("\t")[0] == "status"
    options = output_of("fish", "--no-config", "-c",
                        f"source {root / SHELLS['fish']}; complete -C 'cgibridge status --j'")
    assert options.split("\t")[0] == "--json"


def test_an_installation_from_the_sources_keeps_the_settings_of_the_operator(tmp_path):
    def install():
        done = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", "/opt/bridge"], text=True,
                              capture_output=True, env=environment(DESTDIR=str(tmp_path)))
        assert done.returncode == 0, done.stderr
    install()
    settings = tmp_path / "etc/cgibridge/config.toml"
    assert settings.read_text() == (PROJECT / "config" / "config.toml").read_text()
    settings.write_text("# mine\n")
    install()
    assert settings.read_text() == "# mine\n"
    unit = (tmp_path / "opt/bridge/lib/systemd/system/cgibridge.service").read_text()
    assert "ExecStart=/opt/bridge/bin/cgibridge serve --config /etc/cgibridge/config.toml" in unit
    assert (tmp_path / "opt/bridge/lib/cgibridge/adapters/perl/CGIBridge.pm").exists()
