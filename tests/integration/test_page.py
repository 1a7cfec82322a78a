"""The page, in a real Chromium behind a real nginx."""

import json
import re

import pytest
from selenium.webdriver.common.keys import Keys

from harness import processes, programs, wait_until
from harness.browser import Browser

PAGE = """
location /cgi-bin/ {{
  include /etc/nginx/fastcgi_params;
  fastcgi_param SCRIPT_FILENAME {folder}$fastcgi_script_name;
  fastcgi_pass bridge;
}}
location /cgibridge {{
  include /etc/nginx/fastcgi_params;
  fastcgi_pass bridge;
}}
"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """One for all tests of this file, because starting it takes longer than a test."""
    before = set(processes.descendants_of(processes.os.getpid()))
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.quit()
    for pid in set(processes.descendants_of(processes.os.getpid())) - before:
        processes.kill_quietly(pid)


@pytest.fixture
def browser(chromium):
    chromium.reset()
    yield chromium
    chromium.reset()


class Stage:
    """A bridge with its page, and an nginx in front."""

    def __init__(self, site, defaults, page="switch_modes = true", **options):
        self.site = site
        self.page = page
        self.defaults = defaults
        self.bridge = site.start_bridge(defaults, bridge=self.bridge_settings(), **options)
        self.nginx = site.start_nginx(self.bridge, locations=PAGE.format(folder=site.folder))
        self.url = self.nginx.url("/cgibridge")

    def bridge_settings(self):
        return f'page = {{ path = "/cgibridge", {self.page} }}'

    def change_page(self, page):
        self.page = page
        self.site.rewrite_config(self.defaults, bridge=self.bridge_settings())
        self.bridge.hangup()

    def ask(self, script, times=1):
        for _ in range(times):
            answer = self.nginx.send_request(f"/cgi-bin/{script.name}")
        return answer

    def mode(self, script):
        return self.bridge.program(script)["mode"]

    def token(self):
        page = self.nginx.send_request("/cgibridge").text
        return re.search(r'name="cgibridge-token" content="([^"]*)"', page).group(1)

    def post_mode(self, script, mode, **headers):
        """Posts like the page itself, except for these headers; None omits one."""
        host = f"127.0.0.1:{self.nginx.port}"
        all_headers = {"Content-Type": "application/json", "X-CGIBridge-Token": self.token(),
                       "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
        all_headers.update({name.replace("_", "-"): value for name, value in headers.items()})
        body = json.dumps({"program": str(script), "mode": mode})
        return self.nginx.send_request("/cgibridge/mode", "POST", body, {
            name: value for name, value in all_headers.items() if value is not None})


def counter(site):
    """Under reset = "none" its warm answers differ from classic's, which is always 1. Its output is markup
    that must not take effect on the page."""
    return site.perl("counter", """
        our $visits; $visits += 1;
        print "Content-Type: text/html\\n\\n<p>before</p>\\n",
              "<script>document.title='owned'</script><b id=planted>visit $visits</b>\\n";
        """)


def requests_shown(browser):
    """{arm: requests} of the first program's table."""
    return browser.run("""
        const table = document.querySelector("article table");
        if (!table) return {};
        const arms = [...table.querySelectorAll("thead .key")].map((key) => key.textContent);
        const cells = [...table.querySelectorAll("tbody tr:first-child td")];
        const number = (cell) => Number(cell.textContent.replace(/,/g, ""));
        return Object.fromEntries(arms.map((arm, i) => [arm, number(cells[i])]));
        """)


class TestLooking:
    def test_it_loads_without_a_complaint_and_asks_nobody_else(self, site, browser):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script)
        browser.open(stage.url)
        browser.wait_for("article")
        assert browser.text("h1") == "cgibridge" and browser.text("article h2") == "hello"
        wait_until(lambda: len([url for url in browser.sent() if "/data.json" in url]) >= 3, "it looks again")
        assert browser.sent_outside(stage.url) == []
        assert browser.complaints() == []

    def test_it_shows_requests_as_they_are_answered(self, site, browser):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script, 2)
        browser.open(stage.url)
        wait_until(lambda: requests_shown(browser) == {"classic": 2}, "2 requests are shown")
        stage.ask(script, 5)
        wait_until(lambda: requests_shown(browser) == {"classic": 7}, "7 requests are shown")
        browser.wait_for("article svg.chart path.classic", "a curve")
        assert browser.text("article .charts .key") == "classic"

    def test_arms_stand_side_by_side_with_the_speed_up_in_large_digits(self, site, browser):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "split"\nsplit = { persistent = 50 }\nworkers = { min = 1 }')
        stage.ask(script)
        stage.bridge.wait_warm(script)

        def both():
            stage.ask(script, 4)
            arms = stage.bridge.program(script)["arms"]
            return min(arms.get(arm, {"requests": 0})["requests"] for arm in ("classic", "rewind")) >= 5
        wait_until(both, "both sides have answered", 20)
        browser.open(stage.url)
        browser.wait_for("article .speed .digits")
        assert set(requests_shown(browser)) == {"classic", "rewind"}
        assert re.match(r"[\d.,]+\u00d7$", browser.text("article .speed .digits"))
        browser.wait_for("article .workers li.rewind", "a warm worker")
        assert browser.text("article .workers li b") in ("idle", "busy", "resetting", "checking", "starting")

    def test_a_planted_difference_is_shown_and_harmless(self, site, browser):
        script = counter(site)
        stage = Stage(site, 'mode = "shadow"\nreset = "none"\nworkers = { min = 1 }')

        def different():
            stage.ask(script)
            return stage.bridge.program(script).get("shadow", {}).get("different", 0) > 0
        wait_until(different, "the shadow has found it", 20)
        browser.open(stage.url)
        browser.wait_for("article pre.diff")
        assert "<b id=planted>visit 1</b>" in browser.text("pre.diff del")
        assert re.search(r"<b id=planted>visit \d+</b>", browser.text("pre.diff ins"))
        assert browser.text("article .tally .bad dd") != "0"
        assert not browser.find("#planted") and "owned" not in browser.driver.title
        assert browser.complaints() == []

    def test_without_a_program_it_says_what_to_do(self, site, browser):
        stage = Stage(site, 'mode = "classic"')
        browser.open(stage.url)
        browser.wait_for(".empty")
        assert "through the web server" in browser.text(".empty")

    def test_programs_appear_by_themselves_and_are_listed(self, site, browser):
        one, other = programs.hello(site), programs.pid(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(one)
        browser.open(stage.url)
        browser.wait_for("article")
        stage.ask(other)
        wait_until(lambda: len(browser.find("article")) == 2, "the second program is there")
        browser.wait_for("nav.overview a")
        assert browser.texts("nav.overview a") == ["hello", "pid"]
        assert browser.complaints() == []

    def test_it_says_that_nobody_answers_and_goes_on_trying(self, site, browser):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script)
        browser.open(stage.url)
        browser.wait_for("article")
        stage.nginx.stop()
        notice = browser.wait_for("#notice", "a notice that nobody answers")
        assert "does not answer" in notice.text
        stage.nginx.start()
        wait_until(lambda: not browser.find("#notice")[0].is_displayed(), "the notice is gone", 25)
        assert browser.text("#says") == "The bridge answers again."

    def test_it_can_be_paused(self, site, browser):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script)
        browser.open(stage.url)
        wait_until(lambda: requests_shown(browser) == {"classic": 1}, "it is shown")
        browser.wait_for("#pause").click()
        browser.wait_text("#pill", "paused")
        stage.ask(script)
        wait_until(lambda: stage.bridge.status()["bridge"]["requests_total"] >= 2, "it is answered")
        assert requests_shown(browser) == {"classic": 1}
        browser.wait_for("#pause").click()
        wait_until(lambda: requests_shown(browser) == {"classic": 2}, "it goes on")


class TestEverybody:
    @pytest.fixture
    def stage(self, site):
        script = counter(site)
        stage = Stage(site, 'mode = "shadow"\nreset = "none"\nworkers = { min = 1 }\n'
                            'promote = { after = 1000 }')

        def different():
            stage.ask(script)
            return stage.bridge.program(script).get("shadow", {}).get("different", 0) > 0
        wait_until(different, "the shadow has found it", 20)
        return stage

    @pytest.mark.parametrize("columns", [390, 320])
    def test_a_phone_needs_no_sideways_scrolling(self, stage, browser, columns):
        browser.width(columns)
        browser.open(stage.url)
        browser.wait_for("article pre.diff")
        assert browser.run("return document.documentElement.scrollWidth") <= columns
        over = browser.run("""return [...document.querySelectorAll("article .switch button, h2, .digits")]
            .filter((e) => e.getBoundingClientRect().right > innerWidth).map((e) => e.textContent)""")
        assert over == []

    def test_dark_is_dark_and_light_is_light(self, stage, browser):
        """For the page and a card; text has a contrast of at least 4.5 to 1 (WCAG 2.1, 1.4.3)."""
        shades = {}
        for scheme in ("light", "dark"):
            browser.prefer(color_scheme=scheme)
            browser.open(stage.url)
            browser.wait_for("article pre.diff")
            shades[scheme] = luminance(browser, "document.body", "backgroundColor")
            card = luminance(browser, "document.querySelector('article')", "backgroundColor")
            browser.run("""for (const arm of ["classic", "rewind", "fork", "none"]) {
                const word = document.createElement("i");
                word.className = arm;
                document.querySelector("article").append(word);
                }""")
            for selector in (".modenote", ".path", ".tags", ".hint", ".verdict", "caption", "i.classic",
                             "i.rewind", "i.fork", "i.none"):
                text = luminance(browser, f"document.querySelector('article {selector}')", "color")
                bright, dim = max(card, text), min(card, text)
                assert (bright + .05) / (dim + .05) >= 4.5, f"{selector} in {scheme}"
        assert shades["light"] > .8 and shades["dark"] < .02

    def test_motion_is_reduced_when_asked(self, stage, browser):
        browser.prefer(reduced_motion="reduce")
        browser.open(stage.url)
        browser.wait_for("article")
        browser.wait_text("#pill", "live")
        moving = "return getComputedStyle(document.querySelector('#pill'), '::before').animationName"
        assert browser.run(moving) == "none"
        browser.prefer()
        assert browser.run(moving) == "beat"

    def test_a_screen_reader_finds_its_way(self, stage, browser):
        stage.ask(stage.site.cgi_bin / "counter")  # the page shows its latency for 5 s
        browser.open(stage.url)
        browser.wait_for("article pre.diff")
        nodes = browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        named = [(node["role"]["value"], node.get("name", {}).get("value", ""))
                 for node in nodes if not node.get("ignored")]
        roles = [role for role, _ in named]
        for landmark in ("banner", "main", "contentinfo"):
            assert roles.count(landmark) == 1, landmark
        for role in ("button", "link", "img", "image", "table", "article", "region"):
            assert (role, "") not in named, f"a {role} without a name"
        assert ("group", "Mode of counter") in named
        assert ("heading", "counter") in named
        pictures = [text for role, text in named if role in ("img", "image")]
        assert any(text.startswith("Median latency in the last 2 minutes. classic: now")
                   for text in pictures)
        levels = browser.run("return [...document.querySelectorAll('h1,h2,h3,h4')].map((e) => +e.tagName[1])")
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels

    def test_the_keyboard_alone_switches_a_mode(self, stage, browser):
        script = stage.site.cgi_bin / "counter"
        browser.open(stage.url)
        browser.wait_for("article .switch button")
        browser.tab_to("e.className === 'skip'", 1)
        assert browser.run("return document.activeElement.getBoundingClientRect().top >= 0")
        browser.tab_to("e.dataset.mode === 'classic'")
        outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        assert outline not in ("none", "")
        browser.press(Keys.SPACE)
        wait_until(lambda: stage.mode(script) == "classic", "the mode is switched")
        browser.wait_text("#says", "counter is now classic.")
        wait_until(lambda: browser.run("return document.activeElement.dataset.mode") == "classic",
                   "the focus is where it was")
        browser.tab_to("e.dataset.mode === 'shadow'", 2)
        browser.press(Keys.ENTER)
        wait_until(lambda: stage.mode(script) == "shadow", "the mode is switched back")

    def test_promotion_is_shown_with_its_stage(self, stage, browser):
        browser.open(stage.url)
        browser.wait_for("article .stages [aria-current=step]")
        assert browser.text("article .stages [aria-current=step]").startswith("shadow")
        outlook = stage.bridge.status()["programs"][0]["promotion"]["outlook"]
        assert browser.text("article .stages ~ .hint") == outlook


def luminance(browser, element, property_):
    """WCAG's relative luminance of an element's colour."""
    numbers = browser.run(f"return getComputedStyle({element}).{property_}.match(/[\\d.]+/g).map(Number)")

    def linear(channel):
        channel /= 255
        return channel / 12.92 if channel <= .03928 else ((channel + .055) / 1.055) ** 2.4
    red, green, blue = map(linear, numbers[:3])
    return .2126 * red + .7152 * green + .0722 * blue


class TestSwitching:
    def test_a_click_switches_a_program(self, site, browser):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script)
        browser.open(stage.url)
        browser.wait_for("button[data-mode=persistent]").click()
        browser.wait_for("button[data-mode=persistent][aria-pressed=true]")
        assert stage.mode(script) == "persistent"
        stage.bridge.expect_log("page: 127.0.0.1 switched .*/hello to persistent")

    def test_the_switch_is_there_only_if_it_is_allowed(self, site, browser):
        """The current settings count: a change shows without loading the page again."""
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"', page="switch_modes = false")
        stage.ask(script)
        browser.open(stage.url)
        browser.wait_for("article")
        assert not any(button.is_displayed() for button in browser.find(".switch button"))
        assert stage.token() == ""
        refused = stage.post_mode(script, "persistent")
        assert refused.status == 403 and "switch_modes" in json.loads(refused.text)["error"]
        stage.change_page("switch_modes = true")
        browser.wait_for("button[data-mode=persistent]").click()
        wait_until(lambda: stage.mode(script) == "persistent", "the mode is switched")

    def test_a_bridge_that_began_anew_takes_the_open_pages_switch(self, site, browser):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script)
        browser.open(stage.url)
        browser.wait_for("article")
        token = stage.token()
        stage.bridge.expect_clean_stop()
        stage.bridge.start()
        stage.bridge.stopped = False
        stage.ask(script)
        assert stage.token() != token
        wait_until(lambda: not browser.find("#notice")[0].is_displayed(), "it answers again", 25)
        browser.wait_for("button[data-mode=persistent]").click()
        wait_until(lambda: stage.mode(script) == "persistent", "the mode is switched", 20)

    @pytest.mark.parametrize("headers", [
        {"X_CGIBridge_Token": None}, {"X_CGIBridge_Token": "0" * 64}, {"Origin": "http://elsewhere.example"},
        {"Origin": "null"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
        {"Content_Type": "text/plain"}, {"Content_Type": "application/x-www-form-urlencoded"}],
        ids=lambda headers: "-".join(f"{name}={value}"[:40] for name, value in headers.items()))
    def test_what_the_page_would_not_send_is_refused(self, site, headers):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script)
        assert stage.post_mode(script, "persistent", **headers).status == 403
        assert stage.mode(script) == "classic"
        stage.bridge.expect_log("page: 127.0.0.1 may not switch a mode: it")
        assert stage.post_mode(script, "persistent").status == 200
        assert stage.mode(script) == "persistent"

    def test_another_site_in_the_same_browser_switches_nothing(self, site, browser):
        """It tries what a page can send without permission: a form, and fetch() with no-cors."""
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script)
        evil = site.folder / "evil"
        evil.mkdir()
        value = json.dumps({"program": str(script), "mode": "persistent"})
        (evil / "index.html").write_text(f"""<!doctype html><title>evil</title>
            <iframe name=away></iframe>
            <form target=away method=post enctype="text/plain" action="{stage.url}/mode">
            <input name='{value[:-1]},"x":"' value='"}}'></form>
            <script>
            document.forms[0].submit();
            const options = {{method: "POST", mode: "no-cors", credentials: "include",
              body: {json.dumps(value)}}};
            Promise.allSettled([fetch("{stage.url}/mode", options),
              fetch("{stage.url}/mode", {{...options, mode: "cors", headers: {{
                "Content-Type": "application/json", "X-CGIBridge-Token": "guess"}}}}),
              fetch("{stage.url}/data.json", {{mode: "cors"}}).then((r) => r.text())])
              .then((all) => document.title = all.map((one) => one.status).join());
            </script>""")
        port = processes.free_port()
        site.start_nginx(stage.bridge, locations="location / { return 404; }", sites=f"""
            server {{ listen 127.0.0.1:{port}; root {evil}; }}""")
        browser.open(f"http://localhost:{port}/index.html")
        # Only the first may be sent at all, and the other site may not see its answer.
        wait_until(lambda: browser.driver.title.endswith("rejected,rejected"), "all were tried")
        stage.bridge.expect_log("page: 127.0.0.1 may not switch a mode")
        assert stage.mode(script) == "classic"

    def test_nonsense_is_answered_with_what_is_wrong(self, site):
        script = programs.hello(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(script)
        answer = stage.post_mode(script, "sideways")
        assert answer.status == 422 and "sideways" in json.loads(answer.text)["error"]
        stage.bridge.allow_log("may not switch")


class TestAccess:
    def test_only_listed_addresses_see_it(self, site):
        stage = Stage(site, 'mode = "classic"', page='from = ["192.0.2.0/24"]')
        for below in ("", "/data.json", "/metrics", "/elsewhere"):
            answer = stage.nginx.send_request("/cgibridge" + below)
            assert answer.status == 403 and "bridge.page.from" in answer.text
        assert stage.nginx.send_request("/cgibridge/mode", "POST", "{}").status == 403
        stage.bridge.expect_log("page: not shown to 127.0.0.1: bridge.page.from does not name it")
        stage.change_page('from = ["127.0.0.0/8"]')
        wait_until(lambda: stage.nginx.send_request("/cgibridge").status == 200, "the setting of now holds")

    def test_other_paths_and_methods_are_refused(self, site):
        stage = Stage(site, 'mode = "classic"')
        assert stage.nginx.send_request("/cgibridge/elsewhere").status == 404
        for method, below, allowed in (("POST", "", "GET, HEAD"), ("DELETE", "/data.json", "GET, HEAD"),
                                       ("GET", "/mode", "POST")):
            answer = stage.nginx.send_request("/cgibridge" + below, method)
            assert (answer.status, answer.headers["allow"]) == (405, allowed)

    def test_head_has_no_body(self, site):
        stage = Stage(site, 'mode = "classic"')
        answer = stage.nginx.send_request("/cgibridge", "HEAD")
        assert answer.status == 200 and answer.body == b"" and int(answer.headers["content-length"]) > 10000

    def test_browsers_are_told_to_trust_nothing_else(self, site):
        stage = Stage(site, 'mode = "classic"')
        one, other = (stage.nginx.send_request("/cgibridge") for _ in range(2))
        policy = one.headers["content-security-policy"]
        for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"):
            assert part in policy
        assert "unsafe" not in policy and policy != other.headers["content-security-policy"]
        for answer in (one, stage.nginx.send_request("/cgibridge/data.json"),
                       stage.nginx.send_request("/cgibridge/elsewhere")):
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert "access-control-allow-origin" not in answer.headers

    def test_the_data_can_be_asked_for_in_parts(self, site):
        one, other = programs.hello(site), programs.pid(site)
        stage = Stage(site, 'mode = "classic"')
        stage.ask(one)
        stage.ask(other, 2)

        def paths(query):
            data = json.loads(stage.nginx.send_request("/cgibridge/data.json" + query).text)
            assert data["bridge"]["programs"] == 2
            return [program["path"] for program in data["programs"]]
        assert paths("") == [str(one), str(other)]
        assert paths("?brief&most=1") == [str(other)]
        assert paths(f"?program={one}") == [str(one)]
        assert paths("?program=/nobody") == []


class TestCommand:
    def test_the_table_shows_arms_side_by_side(self, site):
        script = programs.hello(site)
        bridge = site.start_bridge('mode = "classic"')
        bridge.request(script)
        text = bridge.command("status")
        assert re.search(r"arm +requests +errors +p50 +p95 +p99", text)
        assert re.search(r"^ +classic +1 +0 ", text, re.MULTILINE)

    def test_watching_goes_on_until_it_is_ended(self, site):
        from harness.bridge import BINARY, environment
        script = programs.hello(site)
        bridge = site.start_bridge('mode = "classic"')
        with open(site.folder / "watched", "wb") as out:
            watching = site.start(BINARY, "status", "--watch", "--json", "--control", bridge.control,
                                  stdout=out, env=environment())

        def seen():
            # After the last line end there may be part of another line.
            lines = (site.folder / "watched").read_text().split("\n")[:-1]
            return [json.loads(line)["bridge"]["requests_total"] for line in lines]
        wait_until(lambda: 0 in seen(), "the first look")
        bridge.request(script)
        wait_until(lambda: 1 in seen(), "a later look")
        watching.send_signal(2)
        assert watching.wait(20) == -2
