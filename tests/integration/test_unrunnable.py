"""A program that cannot be executed: the log, `try` and `check` say which file it is, what is wrong with it
and what to do. With -s the test shows each message as a user sees it."""

import os
import pathlib
import platform
import re
import subprocess

import pytest

from harness.compiled import compile_library
from harness.processes import PATIENCE

SCRIPT = b"#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nhello\\n'\n"
FOREIGN = 62 if platform.machine() == "aarch64" else 183


def own_elf():
    return pathlib.Path("/bin/true").read_bytes()


def elf_of(machine):
    bytes_ = bytearray(own_elf())
    bytes_[18:20] = machine.to_bytes(2, "little")
    return bytes(bytes_)


def without_loader():
    text = own_elf()
    loader = re.search(rb"/lib(64)?/ld-linux[^\0]*", text)[0]  # any byte may precede it
    return text.replace(loader, b"/no/such/loader.so".ljust(len(loader), b"\0"))


# name: (content, the words that must all be in the message)
CASES = {
    "crlf": (SCRIPT.replace(b"\n", b"\r\n"), ["CR LF", "/bin/sh\\x0d", "Unix line ends", "dos2unix"]),
    "crlf-env": (b"#!/usr/bin/env perl\r\nprint 1;\r\n", ["CR LF", "perl\\x0d", "Unix line ends"]),
    "crlf-switch": (SCRIPT.replace(b"\n", b" -e\r\n", 1), ["CR LF", "-e\\x0d", "Unix line ends"]),
    "missing": (b"#!/opt/no/such/perl -w\n", ["interpreter /opt/no/such/perl", "does not exist", "install"]),
    "missing-env": (b"#!/usr/bin/env no-such-language\n",
                    ['no interpreter "no-such-language" in PATH', ":/usr/bin:/bin", "install"]),
    "missing-behind": (None, ["interpreter /opt/no/such/inner", "does not exist"]),
    "folder-interpreter": (b"#!/usr/bin\n", ["interpreter /usr/bin", "is a folder"]),
    "plain-interpreter": (b"#!/etc/passwd\n", ["interpreter /etc/passwd", "not executable", "chmod"]),
    "no-first-line": (b"print('Content-Type: text/plain\\n')\n", ['no "#!" line', "#!/bin/sh"]),
    "php": (b"<?php echo 1;\n", ['without a "#!" line', "interpreter ="]),
    "bom": (b"\xef\xbb\xbf" + SCRIPT, ["byte order mark", "BOM", "without one"]),
    "utf16": (b"\xff\xfe#\0!\0", ["UTF-16"]),
    "blank-in-front": (b"\n" + SCRIPT, ['in front of its "#!"', "remove"]),
    "empty": (b"", ["is empty"]),
    "no-name": (b"#!  \necho\n", ['names no interpreter after "#!"']),
    "long": (b"#!/" + b"a" * 300 + b"\n", ["first line is too long", "255 bytes"]),
    "other": (elf_of(FOREIGN), ["another architecture", "this machine is"]),
    "riscv": (elf_of(243), ["another architecture, RISC-V"]),
    "cut-off": (own_elf()[:30], ["cut off"]),
    "loader": (without_loader(), ["/no/such/loader.so", "does not exist", "C library"]),
    "windows": (b"MZ\x90\0", ["program for Windows"]),
}


def write(site, name, content, mode=0o755):
    path = site.cgi_bin / f"{name}.cgi"
    if content is None:
        inner = write(site, "inner", b"#!/opt/no/such/inner\n")
        content = f"#!{inner}\n".encode()
    path.write_bytes(content)
    path.chmod(mode)
    return path


def tries(site, path, *more):
    """What `try` prints on standard error; its exit code must not be 0."""
    done = site.cgibridge("try", path, *more, expect=None)
    print(f"$ cgibridge try {' '.join([path.name, *map(str, more)])}   # exit code {done.returncode}")
    print(done.stderr)
    assert done.returncode != 0, done.stdout
    return done.stderr


def check(site, path):
    done = site.cgibridge("check", path, expect=2, seconds=60)
    print(f"$ cgibridge check {path.name}")
    print(done.stdout)
    return " ".join(done.stdout.split())


def says(text, path, words):
    return str(path) in text and all(word in text for word in words)


@pytest.mark.parametrize("name", CASES)
def test_the_log_try_and_check_say_what_is_wrong(site, name):
    content, words = CASES[name]
    path = write(site, name, content)
    for mode in ("classic", "persistent"):
        assert says(tries(site, path, "--mode", mode), path, words)
    assert says(check(site, path), path, words)
    bridge = site.start_bridge('mode = "persistent"')
    bridge.allow_log("502")
    response = bridge.request(path)
    assert response.status == 502 and str(path).encode() not in response.body
    (line,) = [line for line in bridge.log().splitlines() if " 502: " in line]
    print(line)
    assert says(line, path, words)
    # `status` also gives this as the reason why it is not warm.
    assert says(bridge.program(path)["level_reason"], path, words) or name == "crlf-switch"


def test_a_library_that_is_missing_is_named_with_what_finds_it(site):
    library = site.folder / "libmissing_one.so"
    (site.folder / "one.c").write_text("int one(void) { return 1; }\n")
    compile_library(site.folder / "one.c", library)
    path = site.c("linked", "int one(void); int main(void) { return one(); }", f"-L{site.folder}",
                  "-lmissing_one")
    library.unlink()
    assert says(tries(site, path), path, ["libmissing_one.so", "ldd"])


def test_what_is_not_executable_or_a_folder_is_told_with_what_to_do(site):
    plain = write(site, "plain", SCRIPT, 0o644)
    folder = site.cgi_bin / "folder.cgi"
    folder.mkdir()
    for path, words in ((plain, ["is not executable", "chmod +x"]), (folder, ["is a folder"])):
        assert says(tries(site, path), path, words)
        assert says(check(site, path), path, words)
    bridge = site.start_bridge()
    assert bridge.request(plain).status == bridge.request(folder).status == 403
    bridge.expect_log(f"403: {plain}: is not executable.*chmod")
    bridge.expect_log(f"403: {folder}: is a folder")


@pytest.mark.root
def test_a_noexec_mount_is_told(site):
    folder = site.cgi_bin / "mounted"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,size=1m", "none", folder],
                          capture_output=True, timeout=10 * PATIENCE)
    if done.returncode != 0:
        pytest.skip(f"may not mount: {done.stderr}")
    try:
        path = write(site, "mounted/script", SCRIPT)
        assert says(tries(site, path), path, ["noexec", "move it"])
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.root
def test_a_program_of_another_user_is_explained_as_well(site):
    """cgibridge-step-down is executed first, so the kernel's error is known from its exit code."""
    path = write(site, "crlf", CASES["crlf"][0])
    bridge = site.start_bridge('mode = "classic"\nuser = "www-data"')
    bridge.allow_log("502")
    assert bridge.request(path).status == 502
    bridge.expect_log("502: .*CR LF.*dos2unix")


def test_a_program_that_can_be_executed_and_fails_is_not_blamed_for_its_file(site):
    path = write(site, "fails", b"#!/bin/sh\necho oops >&2\nexit 3\n")
    told = tries(site, path)
    assert "it exited with 3; its last word: oops" in told
    assert not any(word in told for word in ("CR LF", "install", "first line", "executable"))


class TestExitCode:
    """The exit code of `try` and `replay`: never 0 for an answer that the bridge made."""

    def test_the_programs_own_answers_leave_its_exit_code(self, site, mode):
        not_found = site.sh("own", "printf 'Status: 404 Not Found\\nContent-Type: text/plain\\n\\nno\\n'\n")
        assert site.cgibridge("try", not_found, "--mode", mode).stdout.endswith("no\n")
        leaves = site.sh("leaves", "printf 'Content-Type: text/plain\\n\\n'; exit 7\n")
        site.cgibridge("try", leaves, "--mode", mode, expect=7)

    def test_one_that_says_nothing_and_leaves_with_0_has_failed(self, site, mode):
        done = site.cgibridge("try", site.sh("silent", "exit 0\n"), "--mode", mode, expect=1)
        assert "502" in done.stdout and "without any output" in done.stderr


def test_an_environment_path_of_the_settings_is_the_one_that_is_searched(site):
    """A name that is on the daemon's own PATH, but not on the program's."""
    path = write(site, "elsewhere", b"#!/usr/bin/env perl\nprint qq(Content-Type: text/plain\\n\\nx);\n")
    bridge = site.start_bridge(f'env = {{ PATH = "{site.folder}" }}\nmode = "classic"')
    bridge.allow_log("502")
    assert bridge.request(path).status == 502
    bridge.expect_log(f'502: .*no interpreter "perl" in PATH \\({site.folder}\\)')
    assert os.access("/usr/bin/perl", os.X_OK)
