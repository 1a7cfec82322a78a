"""Classes stay narrow: their data members, private functions and public functions are counted from the
header."""

import re

from tree import complain, name, sources

MEMBERS_MAX = 20
PRIVATE_FUNCTIONS_MAX = 25
PUBLIC_FUNCTIONS_MAX = 30

# Wider classes: (members, private functions, public functions). They may only shrink, and so may these
# numbers.
WIDER = {
    "daemon.h Daemon": (33, 22, 5), "upstream/fastcgi_worker.h FastcgiWorker": (29, 22, 8),
    "gateway/gateway.h Gateway": (26, 6, 37),
    "gateway/response_stream.h ResponseStream": (22, 18, 18), "pool/generation.h Generation": (23, 11, 26),
    "pool/workers.h Workers": (21, 29, 32),
}


def without_words(text):
    """No comments, no strings."""
    text = re.sub(r"/\*.*?\*/", "", re.sub(r"//.*", "", text), flags=re.DOTALL)
    return re.sub(r'"(\\.|[^"\\])*"', '""', text)


def classes_of(text):
    """(name, body) of each class and struct."""
    for match in re.finditer(r"\b(?:class|struct)\s+(\w+)[^;{}()]*\{", text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield match.group(1), text[match.end():end - 1]


def own_statements(body):
    """The class's own statements, with the body of each function and initializer emptied."""
    outer, depth = [], 0
    for char in body:
        depth -= char == "}"
        if depth == 0:
            outer.append("};" if char == "}" else char)
        depth += char == "{"
    text = re.sub(r"\b(public|protected|private)\s*:", r";@\1;", "".join(outer))
    return [statement.strip() for statement in text.split(";")]


def without_templates(statement):
    for _ in range(4):
        statement = re.sub(r"<[^<>]*>", "", statement)
    return statement


def measure(body):
    """(data members, private functions, public functions); a data member's name ends with an underscore."""
    access, members, functions = "private", 0, {"public": 0, "protected": 0, "private": 0}
    for statement in own_statements(body):
        if statement.startswith("@"):
            access = statement[1:]
            continue
        if not statement or statement.startswith(("using", "friend", "enum", "class", "struct")):
            continue
        plain = without_templates(statement)
        shape = re.sub(r"=.*", "", plain)
        is_function = re.search(r"\w\s*\([^)]*\)\s*(const|override|noexcept|=|\{|$)", shape)
        if "(" in plain and is_function:
            functions[access] += 1
        elif "static constexpr" not in statement:
            members += len(re.findall(r"\b\w+_\b(?=\s*(?:\{|=|,|$|\[))", re.sub(r"\{.*?\}", "{}", plain)))
    return members, functions["private"], functions["public"]


def test_classes_are_narrow():
    problems, seen = [], set()
    limits = (MEMBERS_MAX, PRIVATE_FUNCTIONS_MAX, PUBLIC_FUNCTIONS_MAX)
    for path in sources("bridge"):
        if path.suffix != ".h":
            continue
        for word, body in classes_of(without_words(path.read_text())):
            title = f"{name(path).removeprefix('bridge/')} {word}"
            found = measure(body)
            borne = WIDER.get(title, limits)
            if title in WIDER:
                seen.add(title)
                if found != borne and all(have <= most for have, most in zip(found, borne)):
                    problems.append(f"{title}: is {found} by now: so is its limit")
            if any(have > most for have, most in zip(found, borne)):
                problems.append(f"{title}: has (members, private functions, public functions) {found}, "
                                f"at most {borne}")
    problems += [f"{title}: is no class any more" for title in set(WIDER) - seen]
    complain(problems)


def test_a_class_is_measured_rightly():
    body = """
     public:
      Thing(int a, int b);
      ~Thing();
      bool is_it() const { return a_ && (b_ = {}); }
     private:
      void act(std::function<void(int)> what = {}), see();
      static constexpr int kMost = 3;
      std::map<int, std::pair<int, int>> a_, b_;
      std::function<void()> c_;
      int d_[3] = {1, 2, 3};
      const std::string e_{"word"};
    """
    assert measure(without_words(body)) == (5, 1, 3)
