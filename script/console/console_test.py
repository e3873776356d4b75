"""The console in a real browser: `script/test-console`. Pictures of every page go into .build/console."""

import os
import re
import sys
import unittest

from selenium.webdriver.common.keys import Keys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, Server  # noqa: E402
from webhooks import Receiver, WebhookServer  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BINARY = os.path.abspath(os.environ["ISLET"])
PICTURES = os.path.join(ROOT, ".build", "console")
ORDER = "order-1042"
FIRST = {"attributes": {"restaurant": "Da Mario"}}
PAGES = ["now", "activities", f"activities/{ORDER}", "phones", f"phones/{ORDER}", "compose", f"compose/{ORDER}",
         "diagnose", "diagnose/ada", "webhooks", "channels", "nodes", "settings"]


class ConsoleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(PICTURES, exist_ok=True)
        cls.server = Server(BINARY)
        cls.addClassCleanup(cls.server.close)
        cls.server.wait_for_phones()
        cls.server.put(ORDER, "preparing", 0.2, 25, **FIRST)
        cls.browser = Browser(cls.server)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.size(1280, 900)
        self.browser.look(dark=False)

    def tearDown(self):
        # No test may cause complaints of the browser.
        self.assertEqual(self.browser.complaints(), [])

    def test_0_without_a_key_there_is_nothing_but_the_door(self):
        browser = self.browser
        browser.open(f"#/activities/{ORDER}", whole=True)
        browser.see("API key")
        self.assertNotIn(ORDER, browser.text("body"))
        self.assertFalse(browser.all("#nav a"))
        browser.fill("key", "islet_000000000000_" + "A" * 43)
        browser.press("Sign in")
        browser.see("unknown, wrong or revoked")
        # The browser itself writes a line for the intended refusal, and no other.
        said = browser.complaints()
        self.assertEqual(len(said), 1, said)
        self.assertIn("401", said[0])

    def test_1_each_page_loads_without_errors_wide_dark_and_narrow(self):
        browser = self.browser
        browser.sign_in()
        self.assertNotIn("key=", browser.driver.current_url)
        for dark, width in [(False, 1280), (True, 1280), (False, 390)]:
            browser.size(width, 900)
            browser.look(dark)
            for page in PAGES:
                with self.subTest(page=page, width=width, dark=dark):
                    browser.open(f"#/{page}", whole=True)
                    browser.one("main h1")
                    browser.wait("its content", lambda: browser.all("main .panel") and "…" != browser.text(".empty"))
                    self.assertFalse(browser.all("main .problem"), browser.text())
                    self.assertLessEqual(browser.overflow(), 0)
                    self.assertEqual(browser.complaints(), [])
                    name = page.replace("/", "-") + ("-dark" if dark else "") + ("-narrow" if width < 1000 else "")
                    browser.picture(os.path.join(PICTURES, f"{name}.png"))

    def test_2_a_live_order_moves(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        server.put(ORDER, "preparing", 0.3, 20)
        browser.open("#/phones")
        browser.see("preparing, 20 min")
        server.put(ORDER, "delivering", 0.8, 4, alert={"title": "On its way", "body": "4 minutes"})
        browser.see("delivering, 4 min")
        browser.open(f"#/activities/{ORDER}")
        browser.see("delivering, 4 min")
        browser.see("priority 10")
        browser.see("preparing → delivering")
        browser.click(".entry.push summary")
        browser.see('"content-state"')
        browser.open("#/now")
        browser.see("live")
        browser.wait("pushes", lambda: "%" in browser.text(".tiles"))
        browser.wait("what is left of budgets", lambda: re.search(
            r"% left after half of \d+ push.*Starts postponed", browser.text(), re.DOTALL))

    def test_2_now_says_what_the_metrics_say(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        # Change an existing order, because phones get few starts in an hour and other tests need them.
        server.put(ORDER, "ready", 0.9, 3)
        browser.open("#/now")
        browser.see("live")

        def total(metric, *labels):
            return sum(value for name, value in server.metrics().items()
                       if re.match(metric + r"[{]|" + metric + "$", name) and all(label in name for label in labels))

        def counted():
            """Pushes since the process began, those accepted in a hundred, and connections."""
            pushes, accepted = total("islet_deliveries_total"), total("islet_deliveries_total", 'verdict="accepted"')
            return int(pushes), round(100 * accepted / pushes, 1) if pushes else None, int(
                total("islet_apns_connections"))

        def shown():
            text = browser.text()
            found = [re.search(pattern, text) for pattern in (
                r"([\d,]+) in \d+ min", r"([\d.]+) %\n", r"Connections\s+(\d+)")]
            return None if None in found else (
                int(found[0][1].replace(",", "")), float(found[1][1]), int(found[2][1]))

        browser.wait("the same numbers", lambda: counted()[0] >= 2 and shown() == counted())
        # Running activities and the number of their phones.
        rows = server.call("GET", "/v1/activities?phase=active")["activities"]
        phones = sum(row["phones"] for row in rows)
        browser.see(f"{len(rows)} running on {phones} phones")
        # The newest activity is the first of the list.
        browser.open("#/activities")
        newest = server.call("GET", "/v1/activities?newest=true&limit=1")["activities"][0]["activity"]
        browser.see(newest, "tbody")

    def test_3_time_travel_shows_what_was(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        server.put("order-2", "preparing", 0.1, 40, **FIRST)
        server.until("it is on both phones", lambda: server.call(
            "GET", "/v1/activities/order-2")["counts"].get("live") == 2)
        server.put("order-2", "ready", 0.5, 30)
        browser.open("#/phones/order-2")
        browser.see("ready, 30 min")
        # The phones get the state one after another. Before that there is a time at which neither had it.
        for _ in range(20):
            if "ready, 30 min" not in browser.text(".phones"):
                break
            browser.click("button[aria-label=Earlier]")
        browser.see("preparing, 40 min", ".phones")
        self.assertNotIn("ready, 30 min", browser.text(".phones"))

    def test_4_compose_says_what_would_follow_marks_mistakes_and_sends(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        browser.open("#/compose")
        browser.fill("activity", "order-77")
        browser.fill("people", "ada")
        browser.fill("attributes-restaurant", "Luigi")
        browser.fill("state-progress", "7")
        browser.see("expected", "#state-progress-error")
        browser.fill("state-progress", "0.5")
        browser.fill("state-eta", "9")
        browser.wait("no mistake", lambda: browser.text("#state-progress-error") == "")
        # An app that was in touch a moment ago may start the card without the server.
        browser.wait("what would follow", lambda: re.search("ada.*(starts a card|waits)", browser.text(), re.DOTALL))
        browser.see("preparing, 9 min")
        # A dry run keeps nothing.
        self.assertNotIn("order-77", [row["activity"] for row in server.call("GET", "/v1/activities")["activities"]])
        # The browser reports a refusal while typing as an error, and nothing else.
        said = browser.complaints()
        self.assertTrue(said and all("dryRun=true" in line and "422" in line for line in said), said)
        browser.press("Send")
        browser.see("Timeline")
        browser.see("order-77")
        self.assertEqual(server.call("GET", "/v1/activities/order-77")["state"]["eta"], 9)
        server.until("the phone shows it", lambda: server.call("GET", "/v1/activities/order-77")["counts"].get("live"))
        browser.open("#/compose/order-77")
        browser.press("End it with this state")
        browser.see("ended")
        server.until("it is ended", lambda: server.call("GET", "/v1/activities/order-77")["phase"] == "ended")

    def test_4_compose_overwrites_nothing_newer_and_the_skip_link_leaves_it_alone(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        server.put("order-78", "preparing", 0.1, 40, **FIRST)
        browser.open("#/compose/order-78")
        browser.see("preparing, 40 min")
        server.put("order-78", "ready", 0.5, 30)
        browser.fill("state-eta", "39")
        browser.see("revision")
        browser.wait("a refusal", lambda: browser.all(".compose .problem"))
        said = browser.complaints()
        self.assertTrue(said and all("412" in line for line in said), said)
        self.assertEqual(server.call("GET", "/v1/activities/order-78")["state"]["status"], "ready")
        browser.open("#/compose/order-78", whole=True)
        browser.see("ready, 30 min")
        browser.fill("state-eta", "12")
        browser.driver.execute_script("document.querySelector('.skip').click()")
        self.assertEqual(browser.driver.execute_script("return document.activeElement.id"), "main")
        self.assertTrue(browser.driver.current_url.endswith("#/compose/order-78"))
        browser.see("ready, 12 min")

    def test_5_buttons_act_on_the_simulated_phones_and_a_diagnosis_says_why(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        browser.open("#/phones")
        browser.fill("new-phone", "old")
        browser.driver.execute_script("document.getElementById('new-system').value = '16.4'")
        browser.press("Add")
        browser.wait("the new phone", lambda: "old" in [one.text for one in browser.all(".phone figcaption b")])
        browser.press("Go offline")
        browser.see("Go online")
        browser.press("Go online")
        browser.press("Let 1 minute pass")
        browser.see("1 min ahead")
        server.until("it is known", lambda: "device-unknown" not in str(
            server.call("GET", "/v1/devices/old/diagnosis")))
        server.call("PUT", "/v1/activities/order-3", {
            "type": "OrderTracking", "audience": {"users": ["old"]}, "state": {"status": "ready", "progress": 0.5},
            **FIRST})
        browser.open("#/diagnose/old?activity=order-3")
        browser.see("system-below-17.2")
        browser.see("iOS 16.4")

    def test_6_another_policy_is_tried_on_the_day_and_mistakes_are_marked(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        server.put("order-8", "preparing", 0.1, 40, **FIRST)
        server.until("both phones hold it", lambda: server.call(
            "GET", "/v1/activities/order-8")["counts"].get("live") == 2)
        for eta in range(39, 33, -1):
            server.put("order-8", "preparing", 0.1, eta)
            server.until("it is sent", lambda: all(device["revision"] == view["revision"] for view in [
                server.call("GET", "/v1/activities/order-8")] for device in view["devices"]))
        browser.open("#/settings")
        browser.press("Try another policy", "summary")
        field = browser.one("textarea")
        browser.fill(field.get_attribute("id"), '{"coalescingWindow": "0s", "windows": 1}')
        browser.press("Run")
        browser.see("1s to 5m", ".whatif .problem")
        browser.see("/windows", ".whatif .problem")
        self.assertEqual(field.get_attribute("aria-invalid"), "true")
        # The refusal was intended. The browser reports nothing else.
        said = browser.complaints()
        self.assertTrue(said and all("what-if" in line and "422" in line for line in said), said)
        browser.fill(field.get_attribute("id"), "{")
        browser.press("Run")
        browser.see("This is not JSON", ".whatif .problem")
        browser.fill(field.get_attribute("id"), '{"coalescingWindow": "1m"}')
        browser.press("Run")
        browser.see("Changed policy", ".whatif table")
        self.assertFalse(browser.all(".whatif .problem"))
        figures = {row.find_element("css selector", "th").text: [
            cell.text for cell in row.find_elements("css selector", "td")] for row in browser.all(".whatif tbody tr")}
        # Seven changes of one order within a minute. With a window of one minute they go out together.
        _, now, then, difference = figures["Changes that were sent with a later one"]
        self.assertGreater(int(then), int(now))
        self.assertTrue(difference.startswith("+"), difference)
        sent, now, then, _ = figures["Pushes"]
        self.assertGreater(int(now), int(then))
        # Played under the present policy, the day is as it was, except for what cannot be known.
        self.assertLessEqual(abs(int(sent) - int(now)), int(sent) / 3, figures)
        browser.picture(os.path.join(PICTURES, "settings-what-if.png"))
        self.assertEqual(server.call("GET", "/v1/types")["types"][0]["policy"]["coalescingWindow"], "1s")

    def test_6_settings_are_shown_and_signing_out_ends_the_session(self):
        browser = self.browser
        browser.sign_in()
        browser.open("#/settings")
        browser.see("OrderTrackingAttributes")
        browser.see("highPerHour")
        browser.press("Sign out")
        browser.see("API key")
        browser.open("#/now", whole=True)
        browser.see("API key")
        self.assertEqual(browser.driver.get_cookies(), [])

    def test_6_a_page_says_when_the_server_does_not_answer_and_when_it_does_again(self):
        browser = self.browser
        browser.sign_in()
        browser.open("#/webhooks")
        browser.see("No webhooks are configured")

        def is_lost():
            return browser.driver.execute_script("return document.getElementById('lost').offsetHeight > 0")

        self.assertFalse(is_lost())
        browser.driver.execute_script("window.theirs = fetch; window.fetch = () => Promise.reject(new TypeError())")
        browser.wait("a mark", is_lost)
        browser.see("No webhooks are configured")
        browser.driver.execute_script("window.fetch = window.theirs")
        browser.wait("no mark", lambda: not is_lost())

    def test_7_everything_is_reached_by_keyboard_and_named(self):
        browser = self.browser
        browser.sign_in()
        for page in PAGES:
            browser.open(f"#/{page}")
            browser.one("main h1")
            nameless = browser.driver.execute_script("""
                return [...document.querySelectorAll('main input, main select, main textarea, main button, main a')]
                  .filter((one) => !one.labels?.length && !one.ariaLabel && !one.textContent.trim())
                  .map((one) => one.outerHTML)""")
            self.assertEqual(nameless, [], page)
            self.assertEqual(len(browser.all("h1")), 1, page)

    def test_8_a_timeline_longer_than_what_is_read_goes_on(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        # Both phones hold it since another test.
        # With each change an entry: there are more than the 1,000 that a page reads, whatever comes.
        server.set_often("order-8", 1010)
        browser.open("#/phones/order-8")
        browser.see("Only the newest 1,000 entries are read")
        browser.wait("both phones are drawn", lambda: len(browser.all(".phones .card")) == 2)
        server.put("order-8", "delivering", 0.7, 4)
        browser.see("delivering", ".phones")
        browser.open("#/activities/order-8")
        browser.see("The newest 500 are listed", ".timeline")

    def test_8_older_ones_are_turned_to_by_keyboard(self):
        browser, server = self.browser, self.server
        browser.sign_in()
        server.make("page", 210, **FIRST)
        browser.open("#/activities")
        browser.see("200 activities, the newest")
        older = browser.one("main .beside:last-child button:last-child")
        self.assertEqual(older.text, "Older")
        older.send_keys(Keys.ENTER)
        browser.see("older ones")
        # Whoever is on the button stays there, and gets back the same way.
        self.assertEqual(browser.driver.switch_to.active_element.text, "Older")
        browser.press("Newer")
        browser.see("200 activities, the newest")


class WebhookTest(unittest.TestCase):
    def test_what_was_given_up_is_replayed_and_an_endpoint_that_is_off_is_turned_on(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        server = WebhookServer(BINARY, receiver)
        self.addCleanup(server.close)
        server.make_events()
        server.until("it fails", lambda: server.webhook()["state"] == "failing" and server.webhook()["waiting"] >= 3)
        receiver.status = 410
        server.until("it is off", lambda: server.webhook()["state"] == "off")
        server.give_up()
        browser = Browser(server)
        self.addCleanup(browser.close)
        browser.sign_in_at_the_door()

        browser.open("#/webhooks")
        browser.see("off")
        browser.see("HTTP 410")
        browser.see("repair the endpoint")
        self.assertNotIn("not-to-be-shown", browser.text())
        browser.picture(os.path.join(PICTURES, "webhooks-off.png"))
        # What the server's own rules say of it, with what to do.
        browser.open("#/now")
        browser.see("The webhook backend of com.acme.pizza is disabled until somebody enables it", ".problem")
        browser.see("then run islet webhooks enable")
        browser.see("to do", ".problem .badge")
        browser.picture(os.path.join(PICTURES, "now-alerts.png"))
        browser.open("#/webhooks")
        browser.see("HTTP 410")
        dead = len(server.call("GET", "/v1/webhooks/backend/dead")["dead"])
        self.assertGreaterEqual(dead, 3)
        browser.click("dd a")
        browser.wait("each that was given up", lambda: len(browser.all("tbody tr")) == dead)
        browser.see("started")
        browser.see("order-1")
        browser.picture(os.path.join(PICTURES, "webhooks-dead.png"))
        browser.press("Replay")
        browser.see("1 event is delivered again")
        browser.wait("one less", lambda: len(browser.all("tbody tr")) == dead - 1)
        # Nobody wants to be told of the last any more.
        browser.all("button[aria-label^='Discard event']")[-1].click()
        browser.see("1 event was discarded")
        browser.wait("one less", lambda: len(browser.all("tbody tr")) == dead - 2)
        browser.press("Replay all")
        browser.see("No event was given up.")
        # Off is off: what is replayed waits until it is turned on.
        self.assertEqual(receiver.taken(), [])

        receiver.status = 204
        browser.open("#/webhooks")
        browser.press("Turn on")
        browser.see("backend receives events again")
        server.until("all of it was told", lambda: len(receiver.taken()) >= dead - 1)
        self.assertEqual([event["type"] for _, event in receiver.taken()][:2], ["started", "held"])
        # A repeat has the id of the first time.
        first = {event["id"]: message for status, message, event in receiver.calls if status == 500}
        for message, event in receiver.taken():
            self.assertEqual(message, first.get(event["id"], message))
        browser.wait("that it is on", lambda: browser.text("main .badge") == "on")
        server.until("nothing waits", lambda: server.webhook()["waiting"] == 0)
        self.assertEqual(server.webhook()["state"], "on")
        self.assertEqual(browser.complaints(), [])

    def test_channels_are_listed_with_what_their_cards_lack(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        server = WebhookServer(BINARY, receiver)
        self.addCleanup(server.close)
        server.make_events()
        browser = Browser(server)
        self.addCleanup(browser.close)
        browser.sign_in_at_the_door()
        browser.open("#/channels")
        browser.see("No channels.")
        browser.see("0 of 10,000")
        server.make_channel()
        browser.see("AAAABBBB")
        browser.see("1 of 10,000")
        browser.see("0 of 1", ".behind")
        self.assertEqual(browser.text("main .badge"), "open")
        browser.picture(os.path.join(PICTURES, "channels-open.png"))
        browser.click("tbody a")
        browser.see("order-1", "main h1")
        self.assertEqual(browser.complaints(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2, failfast=False)
