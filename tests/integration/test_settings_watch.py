"""What wakes the daemon: a change of its settings file, however it is made, and nothing else nearby."""

import os
import shutil
import time

import pytest

from harness.processes import wait_until

WRITES = 200


def wakeups(pid):
    """How often the process has gone to sleep voluntarily, which is once for each wakeup."""
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary_ctxt_switches"))


def settings(word):
    return f'mode = "classic"\nenv = {{ WORD = "{word}" }}'


@pytest.fixture
def program(site):
    return site.sh("word", "printf 'Content-Type: text/plain\\n\\n%s\\n' \"$WORD\"\n")


def answers(bridge, program, word):
    wait_until(lambda: bridge.request(program).body == f"{word}\n".encode(), f"{word} is in force")


@pytest.mark.plain_build
def test_writes_beside_the_settings_file_wake_nobody(site, program):
    """A log, a state file that is replaced, and a new socket, all in the settings' folder."""
    bridge = site.start_bridge(settings("one"))
    answers(bridge, program, "one")
    beside = bridge.config.parent

    def write(number):
        with open(beside / "access.log", "a") as log:
            log.write("a line\n")
        (beside / "state.fresh").write_text(str(number))
        (beside / "state.fresh").rename(beside / "state")

    def wakeups_during(action):
        before, begin = wakeups(bridge.pid), time.monotonic()
        for number in range(WRITES):
            action(number)
            time.sleep(0.002)
        return wakeups(bridge.pid) - before, time.monotonic() - begin

    # Its own timers go on, so the test measures what the writes add to them.
    quiet, quiet_s = wakeups_during(lambda number: None)
    writing, writing_s = wakeups_during(write)
    print(f"{quiet} wakeups in {quiet_s:.1f} s of rest, {writing} in {writing_s:.1f} s of {WRITES} writes")
    assert writing - quiet * writing_s / quiet_s < WRITES / 10
    # And the watch still works.
    site.rewrite_config(settings("two"))
    answers(bridge, program, "two")


def edited_in_place(config, text):
    config.write_text(text)


def renamed_over(config, text):
    fresh = config.with_name("config.swp")
    fresh.write_text(text)
    fresh.rename(config)


def moved_away_first(config, text):
    config.rename(config.with_name("config.toml~"))
    config.write_text(text)


def removed_and_made_again(config, text):
    config.unlink()
    time.sleep(0.3)     # longer than the daemon waits for the rest of a change
    config.write_text(text)


def linked_elsewhere(config, text):
    """Does what `ln -sfn` does."""
    elsewhere = config.with_name(f"elsewhere-{len(os.listdir(config.parent))}")
    elsewhere.write_text(text)
    link = config.with_name("link.new")
    link.symlink_to(elsewhere.name)
    link.rename(config)


def through_the_link(config, text):
    config.resolve().write_text(text)


def folder_replaced(config, text):
    folder = config.parent
    shutil.copytree(folder, f"{folder}.new", symlinks=True)
    (folder.with_name(folder.name + ".new") / config.name).unlink()
    (folder.with_name(folder.name + ".new") / config.name).write_text(text)
    folder.rename(f"{folder}.{len(os.listdir(folder.parent))}")
    folder.with_name(folder.name + ".new").rename(folder)


EDITS = [edited_in_place, renamed_over, moved_away_first, removed_and_made_again, linked_elsewhere,
         through_the_link, folder_replaced]


@pytest.mark.parametrize("first", ["a file", "a link", "a link to a folder of links"])
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_change_is_taken_over_however_it_is_made_and_so_is_the_next(site, program, edit, first):
    bridge = site.prepare_bridge(settings("one"))
    text = bridge.config.read_text()
    etc = site.folder / "etc"
    etc.mkdir()
    config = etc / "config.toml"
    if first == "a file":
        config.write_text(text)
    elif first == "a link":
        (site.folder / "real.toml").write_text(text)
        config.symlink_to("../real.toml")
    else:
        (etc / "..1").mkdir()
        (etc / "..1" / "config.toml").write_text(text)
        (etc / "..data").symlink_to("..1")
        config.symlink_to("..data/config.toml")
    bridge.config = config
    bridge.allow_log("config.toml")    # while the file was missing
    bridge.start()
    answers(bridge, program, "one")
    for word in ("two", "three"):
        edit(config, text.replace('"one"', f'"{word}"'))
        answers(bridge, program, word)
    # Whatever the change was, a simple change after it is noticed.
    edited_in_place(config, text.replace('"one"', '"four"'))
    answers(bridge, program, "four")


def test_links_to_folders_are_swapped_as_kubernetes_does(site, program):
    bridge = site.prepare_bridge(settings("one"))
    text = bridge.config.read_text()
    etc = site.folder / "etc"
    (etc / "..1").mkdir(parents=True)
    (etc / "..1" / "config.toml").write_text(text)
    (etc / "..data").symlink_to("..1")
    (etc / "config.toml").symlink_to("..data/config.toml")
    bridge.config = etc / "config.toml"
    bridge.start()
    answers(bridge, program, "one")
    for number, word in enumerate(("two", "three", "four"), 2):
        (etc / f"..{number}").mkdir()
        (etc / f"..{number}" / "config.toml").write_text(text.replace('"one"', f'"{word}"'))
        (etc / "..data_tmp").symlink_to(f"..{number}")
        (etc / "..data_tmp").rename(etc / "..data")
        shutil.rmtree(etc / f"..{number - 1}")
        answers(bridge, program, word)


def test_what_cannot_be_watched_for_a_while_is_watched_again(site, program):
    """Uses a link that leads to itself. In practice it is a new file that only its maker may read yet, but
    root can read that."""
    bridge = site.start_bridge(settings("one"))
    text = bridge.config.read_text()
    (site.folder / "circle").symlink_to(bridge.config.name)
    (site.folder / "circle").rename(bridge.config)
    bridge.expect_log("cannot watch .*config.toml.*until it can be watched again")
    bridge.expect_log("config.toml is refused")
    bridge.allow_log("config.toml")
    renamed_over(bridge.config, text.replace('"one"', '"two"'))
    answers(bridge, program, "two")
    edited_in_place(bridge.config, text.replace('"one"', '"three"'))
    answers(bridge, program, "three")
