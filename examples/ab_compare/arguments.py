"""The command line of ab-compare."""
import argparse
import pathlib

from .answers import FORM, SAFE_METHODS, Request
from .arms import ARMS, PEERS

TOP = pathlib.Path(__file__).resolve().parents[2]
EPILOG = """\
examples:
  ab-compare --config /etc/cgibridge/config.toml --url http://localhost/cgi-bin guestbook.pl
  ab-compare --config config.toml --exact-url http://localhost/git/ --out report /usr/share/gitweb/gitweb.cgi
  ab-compare --config config.toml --peers fcgiwrap,mod_cgid hello.py     (no --url: its own nginx)
"""


def parser_of():
    parser = argparse.ArgumentParser(
        description="Compares the arms of CGI programs on a live bridge, and if asked with what "
        "else can run them: speed, latency at a constant rate, CPU time, memory, and bytes.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("programs", nargs="+", metavar="PROGRAM",
        help="a file in one of the bridge's roots, by its path there or by its whole path")
    add("--config", required=True, help="the settings file that the bridge runs on")
    add("--control", help="the bridge's control socket; else as the file says")
    add("--cgibridge", default=str(TOP / "build/bridge/cgibridge"),
        help="the executable (default: %(default)s)")

    sides = parser.add_argument_group("what is compared")
    sides.add_argument("--arms", type=words_of(ARMS), default=["classic", "fork", "rewind"],
                       help="of classic, fork, rewind, none (default: classic,fork,rewind)")
    sides.add_argument("--peers", type=words_of(PEERS), default=[], help="of fcgiwrap, mod_cgid, "
                       "by-hand: started for the comparison, on free ports")
    sides.add_argument("--responders", metavar="DIR", default=str(TOP / "build/examples/responders"),
                       help="where by-hand finds NAME or NAME.fcgi (default: %(default)s)")
    sides.add_argument("--switch", choices=("config", "command"), default="config",
                       help="edit the settings file, or use `cgibridge mode` (one reset only)")

    what = parser.add_argument_group("what is asked")
    what.add_argument("--url", help="where the programs are on the web server; PROGRAM is "
                      "appended. Without it an nginx of its own is started in front of the bridge")
    what.add_argument("--exact-url", metavar="URL", help="the whole URL of the one PROGRAM")
    what.add_argument("--method", help="default: GET, or POST if there is a --body")
    what.add_argument("--query", default="", help="the query string of each request")
    what.add_argument("--body", metavar="TEXT|@FILE", help="sent with each request")
    what.add_argument("--post", dest="body", metavar="TEXT|@FILE", help="the same as --body")
    what.add_argument("--content-type", default=FORM, help="of the body (default: %(default)s)")
    what.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'",
                      help="may be repeated")
    what.add_argument("--fetches", type=at_least(1), default=20, help="answers compared, a side")
    what.add_argument("--compare", choices=("auto", "same", "get"), default="auto",
                      help="bytes are compared with the same request, or with a plain GET (auto: GET "
                      "if the method may change something)")

    load = parser.add_argument_group("how it is measured")
    load.add_argument("--rounds", type=at_least(1), default=3, help="of each side, in turn")
    load.add_argument("--requests", type=at_least(1), default=2000, help="at most, a closed-loop round")
    load.add_argument("--seconds", type=at_least(1), default=10, help="at most, a closed-loop round")
    load.add_argument("--concurrency", type=at_least(1), default=4,
                      help="requests at once in the closed loop")
    load.add_argument("--rate", type=rates, default=[], metavar="N[,N]",
                      help="also at constant rates, requests a second")
    load.add_argument("--rate-share", type=rates, metavar="P[,P]", help="the same in per cent of "
                      "what the slowest side bore (default without --rate: 80; 0: none)")
    load.add_argument("--rate-seconds", type=at_least(1), default=5, help="of a constant-rate round")
    load.add_argument("--rate-rounds", type=at_least(1), help="default: as many as --rounds")
    load.add_argument("--connections", type=at_least(1), default=16,
                      help="at most, of the constant-rate load")

    results = parser.add_argument_group("results")
    results.add_argument("--out", metavar="DIR", help="report.html, .txt, .csv and .json into DIR")
    results.add_argument("--html", metavar="FILE")
    results.add_argument("--csv", metavar="FILE")
    results.add_argument("--json", metavar="FILE")
    return parser


def arguments(words=None):
    parser = parser_of()
    given = parser.parse_args(words)
    if given.concurrency > given.requests:
        parser.error("--concurrency must not be above --requests")
    if given.exact_url and (given.url or len(given.programs) != 1):
        parser.error("--exact-url is for one PROGRAM, and takes the place of --url")
    if given.switch == "command" and len([a for a in given.arms if a != "classic"]) > 1:
        parser.error("`cgibridge mode` switches no reset: with --switch command name at most one "
                     "arm besides classic, the one whose reset the settings have")
    if given.rate_share is None:
        given.rate_share = [] if given.rate else [80.0]
    given.rate_rounds = given.rate_rounds or given.rounds
    given.rate_share = [share for share in given.rate_share if share > 0]
    for url in filter(None, (given.url, given.exact_url)):
        if not url.startswith(("http://", "https://")):
            parser.error(f"{url}: http://... or https://... is meant")
    given.request, given.compare_request = requests_of(parser, given)
    return given


def requests_of(parser, given):
    """The request to measure, and the one for comparing bytes."""
    body = None
    if given.body is not None:
        try:
            body = pathlib.Path(given.body[1:]).read_bytes() if given.body.startswith("@") \
                else given.body.encode()
        except OSError as error:
            parser.error(f"--body: {error}")
    method = (given.method or ("GET" if body is None else "POST")).upper()
    if body is not None and method not in ("POST", "PUT"):
        parser.error(f"--body goes with POST or PUT, not with {method}")
    headers = []
    for text in given.header:
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or "\n" in text or "\r" in text:
            parser.error(f"--header {text!r}: 'Name: value' is meant")
        headers.append((name.strip(), value.strip()))
    request = Request(method, body, given.content_type, tuple(headers))
    plain = Request("GET", None, FORM, tuple(headers))
    same = given.compare == "same" or given.compare == "auto" and method in SAFE_METHODS
    return request, request if same else plain


def setup_of(given):
    """The command line as it was understood, for the reports."""
    left_out = ("cgibridge", "request", "compare_request")
    setup = {name: value for name, value in vars(given).items() if name not in left_out}
    return {**setup, "method": given.request.method}


def words_of(known):
    def parse(text):
        words = [word for word in dict.fromkeys(text.split(",")) if word]
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word!r}; there are {', '.join(known)}")
        return words
    return parse


def rates(text):
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: numbers, separated by commas") from None
    if any(not 0 <= rate < 1e6 for rate in found):
        raise argparse.ArgumentTypeError(f"{text!r}: a rate is at least 0 and below a million")
    return found


def at_least(least):
    def parse(text):
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r}: a whole number of at least {least}")
        return number
    return parse
