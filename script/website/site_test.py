"""Opens the built site in Chromium and searches it: `script/test-site`. SITE names its folder."""

import functools
import http.server
import json
import os
import shutil
import threading
import unittest
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SITE = os.environ["SITE"]
LIMIT = 30
# What somebody types, and the page that must come first.
SEARCHES = [
    ("restore", "operating/backup/"), ("quiet hours", "policy/"), ("webhook signature", "webhooks/"),
    ("islet doctor", "operating/doctor/"), ("throttle", ""),
]


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        """Says nothing."""


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=SITE))
        cls.addClassCleanup(cls.server.server_close)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)
        cls.address = f"http://127.0.0.1:{cls.server.server_port}/"
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
                         "--disable-background-networking", "--window-size=1400,1000", "--lang=en-GB",
                         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        cls.addClassCleanup(cls.driver.quit)
        cls.driver.set_page_load_timeout(LIMIT)

    def wait(self, what, holds):
        return WebDriverWait(self.driver, LIMIT, 0.1).until(lambda _: holds(), f"waited {LIMIT} s for {what}")

    def open(self, path=""):
        self.driver.get(self.address + path)
        self.wait("the page", lambda: self.driver.find_elements(By.CSS_SELECTOR, "article h1"))

    def search(self, words):
        """The pages that the search finds, best first."""
        self.open()
        field = self.driver.find_element(By.CSS_SELECTOR, "input.md-search__input")
        field.click()
        field.send_keys(words)
        links = self.wait(f"an answer to `{words}`", lambda: self.driver.find_elements(
            By.CSS_SELECTOR, ".md-search-result__item > a.md-search-result__link"))
        return [urlsplit(link.get_attribute("href")).path.lstrip("/") for link in links]

    def test_search(self):
        for words, expected in SEARCHES:
            with self.subTest(words):
                self.assertEqual(self.search(words)[0], expected)

    def test_a_result_leads_to_its_place(self):
        self.search("restore")
        self.driver.find_element(By.CSS_SELECTOR, ".md-search-result__item > a.md-search-result__link").click()
        self.wait("the page of the first result", lambda: "operating/backup/" in self.driver.current_url)
        self.wait("the marked word", lambda: self.driver.find_elements(By.CSS_SELECTOR, "article mark"))

    def test_pages(self):
        for path, words in [
                ("", "Islet"), ("api/", "HTTP API"), ("decisions/", "Decisions"), ("console/", "The console"),
                ("source/Examples/OrderTracking/", "Examples/OrderTracking")]:
            with self.subTest(path):
                self.open(path)
                self.assertIn(words, self.driver.find_element(By.CSS_SELECTOR, "article h1").text)
                broken = self.driver.execute_script(
                    "return [...document.images].filter((one) => !one.naturalWidth).map((one) => one.src)")
                self.assertEqual(broken, [])

    def test_an_anchor_scrolls_to_its_heading(self):
        self.open("api/#post-v1usersusernotifications")
        self.wait("the heading in view", lambda: self.driver.execute_script(
            "const box = document.querySelector(':target')?.getBoundingClientRect();"
            "return box && box.top >= 0 && box.top < innerHeight"))

    def tearDown(self):
        """Every page is complete without another site, and complains of nothing."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [message["params"]["request"]["url"] for message in messages
                 if message["method"] == "Network.requestWillBeSent"]
        self.assertTrue(asked)
        self.assertEqual([url for url in asked if not url.startswith((self.address, "data:", "blob:"))], [])
        severe = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])


if __name__ == "__main__":
    unittest.main()
