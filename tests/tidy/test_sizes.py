"""Files and functions stay small enough to be read in one go."""

import re

from tree import TOP, complain, files, name, rooms, sources

HEADER_LINES_MAX = 150
SOURCE_LINES_MAX = 400
SCRIPT_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
# No formatter wraps Python's lines for us.
PYTHON_COLUMNS_MAX = 110

# Files that may be larger, and why.
LARGER = {
    # They have a row, or a member, for each setting.
    "bridge/config/fields.cc": 600, "bridge/config/program_settings.h": 230,
    # They have the life of a request in one place.
    "bridge/gateway/request.cc": 425, "bridge/gateway/request.h": 155,
}


def lines_of(path):
    return path.read_text(errors="replace").splitlines()


def test_files_are_short():
    problems = []
    for path in sources() + files("adapters", "tests", "examples", endings={".py", ".pm", ".pl"}):
        limit = {".h": HEADER_LINES_MAX, ".py": SCRIPT_LINES_MAX}.get(path.suffix, SOURCE_LINES_MAX)
        # A test's header contains data: recorded requests, tables of cases.
        if name(path).startswith("tests/"):
            limit = max(limit, SOURCE_LINES_MAX)
        limit = LARGER.get(name(path), limit)
        if len(lines_of(path)) > limit:
            problems.append(f"{name(path)}: {len(lines_of(path))} lines, at most {limit}")
    complain(problems)


def functions_of(path):
    """(first line, lines) of each function body, found by its closing brace in the first column, which is how
    clang-format writes functions at namespace level."""
    start = None
    for number, line in enumerate(lines_of(path), 1):
        if re.match(r"^[A-Za-z_~].*\{$", line) and not re.match(
                r"^(namespace|class|struct|enum|union|extern|static const|constexpr|const|TEST)", line):
            start = number
        elif re.match(r"^[A-Za-z_~][^;{]*$", line) and not line.startswith(("#", "namespace")):
            # A signature of several lines begins here.
            start = start or number
        elif line.startswith("}") and start:
            yield start, number - start + 1
            start = None
        elif line == "" and start and not open_body(path, start, number):
            start = None


def open_body(path, start, end):
    text = "\n".join(lines_of(path)[start - 1:end])
    return text.count("{") > text.count("}")


def test_functions_are_short():
    problems = []
    for path in sources("bridge", "adapters", "examples"):
        if path.suffix == ".h":
            continue
        problems += [f"{name(path)}:{first}: a function of {count} lines, at most {FUNCTION_LINES_MAX}"
                     for first, count in functions_of(path) if count > FUNCTION_LINES_MAX]
    complain(problems)


def test_lines_fit():
    problems = []
    for path in sources() + files("tests", "adapters", endings={".py"}):
        limit = PYTHON_COLUMNS_MAX if path.suffix == ".py" else COLUMNS_MAX
        problems += [f"{name(path)}:{number}: {len(line)} columns"
                     for number, line in enumerate(lines_of(path), 1) if len(line) > limit]
    complain(problems)


def test_headers_are_guarded():
    problems = []
    for path in sources("bridge", "adapters"):
        text = path.read_text()
        if path.suffix == ".h" and "#pragma once" not in text and "#ifndef" not in text:
            problems.append(f"{name(path)}: no guard")
    complain(problems)


def test_every_room_has_a_readme_of_a_page():
    problems = []
    for folder in [*(TOP / "bridge" / room for room in rooms()), TOP / "adapters", TOP / "tests"]:
        readme = folder / "README.md"
        if not readme.is_file():
            problems.append(f"{name(folder)}: no README.md")
        elif len(lines_of(readme)) > 120:
            problems.append(f"{name(readme)}: more than a page")
    complain(problems)


def test_headers_begin_with_what_they_are():
    problems = []
    for path in sources("bridge", "adapters"):
        if path.suffix == ".h" and not path.read_text().startswith(("//", "/*")):
            problems.append(f"{name(path)}: its first line is no comment")
    complain(problems)
