"""A real Chromium with the console open, and a server with simulated phones for it."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException, StaleElementReferenceException, TimeoutException)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

LIMIT = 30


class Server:
    """`islet serve --dev`, until it is closed."""

    def __init__(self, binary):
        self.folder = tempfile.mkdtemp(prefix="islet-console-")
        self.log = open(os.path.join(self.folder, "server.log"), "w")
        self.process = subprocess.Popen(
            [binary, "serve", "--dev", "--port", "0"], stdout=subprocess.PIPE, stderr=self.log, text=True,
            cwd=self.folder)
        self.address = self.key = None
        for line in self.process.stdout:
            found = re.match(r"console: (http://\S+)/#key=(\S+)", line)
            if found:
                self.address, self.key = found.groups()
                break
        if not self.key:
            self.close()
            raise SystemExit("the server did not start")

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.address + path, data=None if body is None else json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            return json.loads(answer.read() or b"{}")

    def metrics(self):
        """The samples of `/metrics`, by name and labels."""
        with urllib.request.urlopen(self.address + "/metrics", timeout=LIMIT) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (
            line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))}

    def put(self, activity, status, progress, eta, **more):
        state = {"status": status, "progress": progress}
        if eta is not None:
            state["eta"] = eta
        body = {"type": "OrderTracking", "state": state, "audience": {"users": ["ada", "bob"]}, **more}
        return self.call("PUT", f"/v1/activities/{activity}", body)

    def batch(self, lines):
        """Many calls at once; all of them have to be taken."""
        request = urllib.request.Request(
            self.address + "/v1/batch", data="".join(json.dumps(line) + "\n" for line in lines).encode(), method="POST",
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/x-ndjson"})
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            refused = [line for line in map(json.loads, answer) if line["status"] != 200]
        assert not refused, refused[:3]

    def set_often(self, activity, count):
        """Sets so many states of low priority one after the other."""
        self.batch({"method": "PUT", "path": f"/v1/activities/{activity}", "body": {
            "type": "OrderTracking", "priority": "low",
            "state": {"status": "preparing", "progress": 0.1, "eta": 100 + step}}} for step in range(count))

    def make(self, prefix, count, **more):
        """So many activities that nobody sees."""
        self.batch({"method": "PUT", "path": f"/v1/activities/{prefix}-{number}", "body": {
            "type": "OrderTracking", "state": {"status": "ready", "progress": 0.5}, **more}} for number in range(count))

    def wait_for_phones(self):
        """The simulated phones have to be known before an order is for somebody."""
        body = {"type": "OrderTracking", "state": {"status": "ready", "progress": 0.5},
                "attributes": {"restaurant": "Nobody's"}, "audience": {"users": ["ada", "bob"], "devices": "all"}}

        def are_known():
            phones = self.call("PUT", "/v1/activities/nothing?dryRun=true", body)["phones"]
            return phones["start"] + phones["update"] + phones["pending"] >= 2

        self.until("both phones can be started on", are_known)

    def until(self, what, holds):
        """Asks again and again; the server's work has no other sign."""
        end = time.monotonic() + LIMIT
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"waited {LIMIT} s in vain until {what}")
            time.sleep(0.1)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Browser:
    """One profile of Chromium."""

    def __init__(self, server, width=1280, height=900, dark=False):
        self.server = server
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                         "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--lang=en-GB"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        self.driver.set_page_load_timeout(LIMIT)
        self.size(width, height)
        self.look(dark)

    def size(self, width, height):
        self.width, self.height = width, height
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def look(self, dark):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def open(self, place="", whole=False):
        """A page by its hash; `whole` loads everything anew."""
        if whole:
            self.driver.get("about:blank")
        self.driver.get(f"{self.server.address}/{place}")

    def sign_in(self):
        """By the link that `islet serve --dev` prints."""
        self.open(f"#key={self.server.key}", whole=True)
        self.wait("the page after signing in", lambda: self.all("#nav a[aria-current]"))

    def sign_in_at_the_door(self):
        """By hand, as on any other server: it takes no key from an address."""
        self.open(whole=True)
        self.see("API key")
        self.fill("key", self.server.key)
        self.press("Sign in")
        self.wait("the page after signing in", lambda: self.all("#nav a[aria-current]"))

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.wait(selector, lambda: self.all(selector))[0]

    def text(self, selector="main"):
        return self.driver.execute_script(
            "return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def wait(self, what, holds):
        # Pages may redraw themselves during the check.
        passing = [StaleElementReferenceException, ElementClickInterceptedException]
        try:
            return WebDriverWait(self.driver, LIMIT, 0.1, passing).until(lambda _: holds())
        except TimeoutException:
            raise AssertionError(f"waited {LIMIT} s in vain for {what}; there is:\n{self.text('body')}") from None

    def see(self, words, selector="main"):
        self.wait(f"`{words}`", lambda: words in self.text(selector))

    def press(self, words, selector="button"):
        """Clicks the first of what has this text."""
        self.wait(f"the button `{words}`", lambda: self._click([
            one for one in self.all(selector) if one.text == words and one.is_enabled()]))

    def click(self, selector):
        """Clicks the first of what is selected."""
        self.wait(selector, lambda: self._click(self.all(selector)))

    @staticmethod
    def _click(found):
        for one in found[:1]:
            one.click()
        return bool(found)

    def fill(self, identifier, text):
        field = self.one(f"#{identifier}")
        field.clear()
        field.send_keys(text)

    def complaints(self):
        """What the browser has said of errors since the last time; those of a policy are among them."""
        return [f"{entry['level']}: {entry['message']}" for entry in self.driver.get_log("browser")
                if entry["level"] in ("SEVERE", "WARNING")]

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")

    def picture(self, file, most=2600, least=0):
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        width, before = self.width, self.height
        self.size(width, min(max(height, least or before), most))
        self.driver.save_screenshot(file)
        self.size(width, before)

    def close(self):
        self.driver.quit()
