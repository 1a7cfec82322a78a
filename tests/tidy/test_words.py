"""The vocabulary, the format, and that no file is left over."""

import re
import shutil
import subprocess

import pytest
from tree import TOP, complain, files, name, sources

# Forbidden in comments, names and texts of the product: the word, and what to say instead.
BANNED = {
    r"\bTODO\b(?!\()": "an issue, or TODO(soon|someday|perf|port)",
    r"\bFIXME\b": "an issue",
    r"\bXXX\b": "a sentence",
    r"\bHACK\b": "a sentence",
    r"(?i)\bsubprocess(es)?\b": "worker, program or zygote",
    r"(?i)\bbackend\b": "program or worker",
    r"(?i)\bsession\b(?! of| id| leader|_id)": "request or connection",
    r"(?i)\bmaster\b": "bridge or zygote",
    r"(?i)\bslave\b": "worker",
    r"(?i)\bblacklist|\bwhitelist": "a list of what is refused or allowed",
    r"(?i)\bsingleton\b": "an object that main makes",
}

# Names that others have chosen.
ALLOWED = re.compile(
    r"git[ -]http-backend|http-backend|ProxyFCGIBackendType|session_id|setsid|subprocess\.|"
    r"import subprocess|BackendType|process group|session of its own|new session|X{6}|"
    r"session's|own session|session_|session file|sessions")


# What a newcomer would have to read twice: the idiom, and what to say instead.
IDIOMS = {
    r"(?i)\bbehind (each|its|all|every|it|them|a request|the answer)\b": "after",
    r"(?i)\bopened anew\b|\bfiles anew\b": "again",
    r"(?i)\bare borne\b|\bbears? warm\b": "are accepted, can run in",
    r"(?i)\btold of\b": "learns about, is reported",
    r"(?i)\bto be had\b": "available",
    r"(?i)\bdear\b": "expensive",
    r"(?i)\bheld against\b": "compared with",
    r"(?i)\bis no way\b": "cannot",
    r"(?i)\blooks whether\b": "checks whether",
    r"(?i), as (neither|nobody|no one)\b": "because",
}


def test_english_is_plain():
    kinds = {".c", ".cc", ".h", ".md", ".toml", ".pm", ".py", ".rb", ".tcl", ".js", ".conf", ""}
    places = ("bridge", "adapters", "config", "examples", "README.md", "tests", ".github")
    paths = [path for path in files(*places) if path.suffix in kinds and path.name != "test_words.py"
             and "corpus" not in path.parts]
    assert len(paths) > 400
    complain([f"{name(path)}:{number}: say {better}: {line.strip()}"
              for path in paths
              for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
              for idiom, better in IDIOMS.items() if re.search(idiom, line)])


def texts():
    return [path for path in files("bridge", "adapters", "config", "examples", "README.md")
            if path.suffix in {".c", ".cc", ".h", ".md", ".toml", ".pm", ".py", ".conf", ""}]


def test_words_are_those_of_the_design():
    problems = []
    for path in texts():
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            rest = ALLOWED.sub("", line)
            problems += [f"{name(path)}:{number}: say {better}: {line.strip()}"
                         for word, better in BANNED.items() if re.search(word, rest)]
    complain(problems)


def test_product_code_has_no_bool_parameters_at_calls():
    """f(x, true) says nothing about its meaning; a two-value enum does."""
    pattern = re.compile(r"\w\((?:[^()]*, )?(true|false)\)")
    fine = re.compile(r"EXPECT|ASSERT|return|store\(|exchange\(|value_or|emplace|set_value|"
                      r"configurable|required\(|json::parse|\.value\(|BRIDGE_ASSERT|defined|expected\(")
    problems = [f"{name(path)}:{number}: {line.strip()}"
                for path in sources("bridge")
                for number, line in enumerate(path.read_text().splitlines(), 1)
                if pattern.search(line) and not fine.search(line)]
    complain(problems)


def test_the_environment_is_read_in_few_places():
    """getenv is only allowed at a process's start: the daemon's, the commands', and where a service manager
    hands over sockets by LISTEN_FDS."""
    problems = [f"{name(path)}: calls getenv" for path in sources("bridge")
                if re.search(r"\bgetenv\(", path.read_text())
                and not re.match(r"bridge/(config/|cli/|gateway/listen_socket\.cc|[^/]*\.cc$)", name(path))]
    complain(problems)


def test_code_is_formatted():
    if not shutil.which("clang-format"):
        pytest.skip("clang-format is not installed")
    paths = [str(path) for path in sources()]
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *paths], cwd=TOP,
                          capture_output=True, text=True)
    places = re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, re.MULTILINE)
    complain([f"{place.removeprefix(str(TOP) + '/')}: not as clang-format has it"
              for place in dict.fromkeys(places)])
    assert done.returncode == 0, done.stderr


# Constructs that clang-format 14 (Debian 12) and 19 (Debian 13) format differently, and what to write
# instead.
TWO_FORMATS = {
    r"\bstruct \w+ \w+ ?\{\}": "struct one name = {}",
    r"\w [\w:]+::\* ?\w": "a name for the member's type (using Figure = int Figures::*)",
    r"^\} ?\* ?\w": "the pointer by itself, behind the struct",
    r"\(uintptr_t ?\(\*\)": "a typedef of the function",
}


def test_every_clang_format_has_it_alike():
    complain([f"{name(path)}:{number}: write {better}: {line.strip()}"
              for path in sources()
              for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
              for form, better in TWO_FORMATS.items() if re.search(form, line)])


def test_every_c_file_is_built():
    mentioned = "\n".join(path.read_text() for path in files(endings={".txt", ".cmake"}))
    problems = []
    for path in sources("bridge", "adapters", "examples"):
        if path.suffix != ".h" and path.name not in mentioned and path.stem not in mentioned:
            problems.append(f"{name(path)}: in no CMakeLists.txt")
    complain(problems)


def test_every_header_is_included():
    included = set()
    for path in sources():
        included |= {target.split("/")[-1]
                     for target in re.findall(r'#\s*include\s*"([^"]+)"', path.read_text())}
    complain([f"{name(path)}: included nowhere" for path in sources("bridge", "adapters")
              if path.suffix == ".h" and path.name not in included])


def test_every_example_and_setting_file_is_used_by_a_test():
    tests = "\n".join(path.read_text(errors="replace")
                      for path in files("tests", "CMakeLists.txt", "examples/CMakeLists.txt")
                      if path.suffix in {".py", ".txt", ".sh", ""} and path.stat().st_size < 200_000)
    problems = [f"{name(path)}: no build and no test names it"
                for path in files("examples", "config")
                if path.name not in ("README.md", "CMakeLists.txt") and path.name not in tests
                and path.parent.name not in tests
                and path.parent.name.replace("_", "-") not in tests]
    complain(problems)


def test_no_test_asserts_how_long_something_took():
    """Speed is measured in tests/bench, because machines are busy."""
    pattern = re.compile(r"assert\b.*(\bmonotonic\(|perf_counter\(|\btook\b|\belapsed\b|"
                         r"(steady|high_resolution)_clock::now)|EXPECT_L[TE]\(.*(elapsed|took|clock::now)")
    problems = [f"{name(path)}:{number}: {line.strip()}"
                for path in files("tests", endings={".py", ".cc"})
                if not name(path).startswith(("tests/bench/", "tests/tidy/"))
                for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
                if pattern.search(line)]
    complain(problems)


def test_scripts_are_executable():
    problems = []
    for path in files():
        if name(path).startswith("tests/fuzz/corpus/"):
            continue  # read as scripts, never run
        first = path.open("rb").read(2)
        executable = path.stat().st_mode & 0o111
        if first == b"#!" and not executable and path.suffix not in (".py", ".pm", ".h"):
            problems.append(f"{name(path)}: begins with #! and is not executable")
    complain(problems)


def test_no_build_artefacts_are_kept():
    complain([f"{name(path)}: made by a build or a run" for path in files()
              if path.suffix in (".o", ".a", ".so", ".pyc", ".log", ".orig", ".rej")])
