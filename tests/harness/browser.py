"""A real Chromium without a window, controlled by its own driver (Debian: chromium, chromium-driver,
python3-selenium). Where there is none, the test that wants it is skipped: Ubuntu has it as a snap only."""

import json
import os
import urllib.parse

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness.processes import PATIENCE, accepts, free_port, wait_until

BINARY = "/usr/bin/chromium"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
         "--disable-extensions", "--no-first-run", "--force-color-profile=srgb",
         # Otherwise its driver also connects to it by the name localhost.
         "--remote-debugging-pipe"]


class Driver(Service):
    """Reached by its numeric address: selenium uses localhost, which a machine without /etc/hosts does not
    know."""

    @property
    def service_url(self):
        return f"http://127.0.0.1:{self.port}"

    def is_connectable(self):
        return accepts(("127.0.0.1", self.port))


class Browser:
    def __init__(self, profile):
        if not os.path.exists(BINARY):
            pytest.skip(f"no {BINARY}")
        options = Options()
        options.binary_location = BINARY
        for flag in [*FLAGS, f"--user-data-dir={profile}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Driver(
            "/usr/bin/chromedriver", port=free_port(), env={**os.environ, "TMPDIR": str(profile)}))
        self.driver.set_page_load_timeout(30 * PATIENCE)
        # forget() discards what an earlier page sent or logged.
        self._sent = []

    def quit(self):
        self.driver.quit()

    def open(self, url):
        """Opens a new page, and forgets what earlier pages did."""
        self.driver.get("about:blank")
        self.forget()
        self.driver.get(url)

    def forget(self):
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self._sent = []

    # Its preferences

    def width(self, columns, rows=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": columns, "height": rows, "deviceScaleFactor": 1, "mobile": columns < 600})

    def prefer(self, **features):
        """prefer(color_scheme="dark", reduced_motion="reduce"); without arguments: the browser's own
        preferences."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-" + name.replace("_", "-"), "value": value}
            for name, value in features.items()]})

    def reset(self):
        self.driver.get("about:blank")
        self.prefer()
        self.width(1280)

    def screenshot(self, path):
        self.driver.save_screenshot(str(path))

    # What is on the page

    def find(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def wait_for(self, selector, what=None, seconds=10):
        """The first element that matches and is shown."""
        def shown():
            try:
                return next((one for one in self.find(selector) if one.is_displayed()), None)
            except StaleElementReferenceException:
                return None  # the page has replaced it meanwhile
        return wait_until(shown, what or f"the page shows {selector}", seconds)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector="body"):
        """The text in the document, shown or not."""
        return self.run("const e = document.querySelector(arguments[0]); return e ? e.textContent : ''",
                        selector)

    def texts(self, selector):
        """The texts of all that match, at one moment."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)",
                        selector)

    def wait_text(self, selector, part, seconds=10):
        wait_until(lambda: part in self.text(selector), f"{selector} says {part!r}", seconds)

    # The keyboard

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def tab_to(self, condition, most=60):
        """Presses Tab until the focused element meets condition (JavaScript about `e`)."""
        for _ in range(most):
            self.press(Keys.TAB)
            if self.run(f"const e = document.activeElement; return !!({condition})"):
                return
        raise AssertionError(f"{most} times Tab do not reach: {condition}")

    # What it did

    def complaints(self):
        """The console's errors and warnings since open(), including those about the content security
        policy."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def sent(self):
        """URLs that pages requested since open()."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self._sent.append(message["params"]["request"]["url"])
        return list(self._sent)

    def sent_outside(self, url):
        """The URLs of sent() with another origin than url's."""
        own = urllib.parse.urlsplit(url)[:2]
        return [one for one in self.sent() if urllib.parse.urlsplit(one)[:2] != own
                and not one.startswith(("data:", "about:"))]
