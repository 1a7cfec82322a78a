"""tests/run, after the packages are installed: builds what the given sections need, and runs them. Its last
line counts every test."""

import pathlib
import shutil
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True

import build  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import sections  # noqa: E402
from harness.reachable import share  # noqa: E402
from parts import TOP  # noqa: E402


def main(wanted):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cgibridge-results-"))
    try:
        steps = build.make(wanted, folder)
        parts = [part for section in sorted(wanted, key=sections.ORDER.index)
                 for part in sections.parts_of(section, folder)]
        if not parts:
            return 0
        share([TOP / name for name in sections.builds_of(wanted)])
        report.say("\n== tests")
        return run.run(parts, folder, TOP / "build" / "unsteady", steps)
    except build.Failed as failed:
        report.say(str(failed))
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
