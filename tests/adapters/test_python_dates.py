"""What dateutil keeps of the time when it is loaded ahead of Python's requests, and is renewed."""

import pytest

from driver import LAUNCH_ENV, REQUEST_ENV, WARNING, Warm, library, run_plainly
from python import PYTHON, python_argv
from test_perl_later import clock  # noqa: F401: a fixture

SCRIPT = """import sys
print('dateutil.parser._parser' in sys.modules, file=sys.stderr)
import dateutil.parser
MORE
for text in ('1/2', '3/4/49', '3/4/68', 'May 1999'):
    print(dateutil.parser.parse(text, default=dateutil.parser.parse('2000-01-01')).date())
own = dateutil.parser.parserinfo()
print(dateutil.parser._parser.DEFAULTPARSER.info.convertyear(20), own.convertyear(20))
"""
YEARS = [1_700_000_000, 1_733_333_333, 4_000_000_000]


@pytest.mark.parametrize("more", ["", "import matplotlib.dates"])
@pytest.mark.parametrize("reset", ["fork", "rewind"])
def test_the_year_of_dateutil_s_parser_is_the_request_s(folder, clock, reset, more):  # noqa: F811
    shim, moment = clock
    moment.write_text(str(YEARS[0]))
    script = folder.script("x.py", SCRIPT.replace("MORE", more))
    modules = "datetime,calendar,decimal,dateutil,dateutil.parser._parser,dateutil.parser"
    with Warm(python_argv(script, modules), level="compiled", reset=reset, env=LAUNCH_ENV,
              preload=f"{library()}:{shim}") as zygote:
        assert zygote.note(WARNING) == []
        zygote.argv = [PYTHON, script]
        answers = set()
        for year in [*YEARS, *YEARS]:
            moment.write_text(str(year))
            plain = run_plainly([PYTHON, script], env={**REQUEST_ENV, "LD_PRELOAD": str(shim)})
            answer = zygote.ask(env=REQUEST_ENV)
            assert (answer.stdout, answer.stderr) == (plain.stdout, b"True\n")
            answers.add(answer.stdout)
        assert len(answers) > 1


def test_another_parser_of_a_module_s_own_is_not_renewed(folder):
    folder.script("lib/own.py", "import dateutil.parser\nparser = dateutil.parser.parser()\n")
    script = folder.script("x.py", "import sys\nprint('own' in sys.modules)\nimport own\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    line = python_argv(script, "dateutil,dateutil.parser._parser,own")
    with Warm(line, level="compiled", env={**LAUNCH_ENV, **env}) as zygote:
        assert any("own" in text and "asks for the time" in text for text in zygote.note(WARNING))
        zygote.argv = [PYTHON, script]
        assert zygote.ask(env={**REQUEST_ENV, **env}).text == "False\n"


def test_another_version_s_parser_that_keeps_no_year(folder):
    folder.script("lib/dateutil/__init__.py", "")
    folder.script("lib/dateutil/parser/__init__.py", "from ._parser import DEFAULTPARSER\n")
    folder.script("lib/dateutil/parser/_parser.py", "class parser: info = None\nDEFAULTPARSER = parser()\n")
    script = folder.script("x.py", "import sys\nprint('dateutil.parser._parser' in sys.modules)\n")
    env = {"PYTHONPATH": str(folder.path / "lib")}
    with Warm(python_argv(script, "dateutil,dateutil.parser._parser"), level="compiled",
              env={**LAUNCH_ENV, **env}) as zygote:
        zygote.argv = [PYTHON, script]
        assert zygote.ask(env={**REQUEST_ENV, **env}).seen() == (b"True\n", b"", 0)
