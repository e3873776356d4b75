"""Makes the console's pictures for the documents: `script/screenshots`."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, Server  # noqa: E402
from webhooks import Receiver, WebhookServer  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BINARY = os.path.abspath(os.environ["ISLET"])
IMAGES = os.path.join(ROOT, "docs", "images")
LARGEST = 150 * 1024
STEPS = [("preparing", 0.2, 25), ("preparing", 0.35, 21), ("ready", 0.5, 16), ("picked_up", 0.65, 10),
         ("delivering", 0.8, 5)]


def save(browser, name, most):
    """A picture as WebP; one that is too large for a repository is an error."""
    target = os.path.join(IMAGES, f"{name}.webp")
    with tempfile.TemporaryDirectory() as folder:
        picture = os.path.join(folder, "picture.png")
        browser.picture(picture, most=most, least=most)
        subprocess.run(["cwebp", "-quiet", "-q", "82", "-m", "6", picture, "-o", target], check=True)
    if os.path.getsize(target) > LARGEST:
        raise SystemExit(f"{target} has {os.path.getsize(target)} bytes")


def play(server):
    """Orders that have come some way."""
    server.wait_for_phones()
    for status, progress, eta in STEPS:
        # The others come first, because the pages list the latest changes first.
        for number in range(4):
            server.put(f"order-{1038 + number}", status, progress, eta, attributes={"restaurant": "Bella"},
                       start="never")
        alert = {"alert": {"title": "On its way", "body": f"{eta} minutes"}} if status == "delivering" else {}
        server.put("order-1042", status, progress, eta, attributes={"restaurant": "Da Mario"}, **alert)
        server.until("the phones hold it", lambda: all(
            device["revision"] == view["revision"] for view in [server.call("GET", "/v1/activities/order-1042")]
            for device in view["devices"]))


def try_policy(browser):
    """Another policy on the orders of the last minutes."""
    browser.open("#/settings")
    browser.press("Try another policy", "summary")
    browser.fill(browser.one("textarea").get_attribute("id"), '{"coalescingWindow": "1m"}')
    browser.press("Run")
    browser.see("Changed policy", ".whatif table")
    # Show only the form and its table.
    browser.driver.execute_script("""
        document.querySelectorAll('main .panel:not(:has(.whatif))').forEach((one) => one.remove());
        document.querySelectorAll('.type > :not(.trial)').forEach((one) => one.remove());
        window.scrollTo(0, 0)""")


def trouble():
    """An endpoint that was turned off, and the alert that says so."""
    receiver = Receiver()
    receiver.status = 410
    server = WebhookServer(BINARY, receiver)
    try:
        server.make_events()
        server.until("it is off", lambda: server.webhook()["state"] == "off")
        server.give_up()
        browser = Browser(server, width=1280, height=620)
        try:
            browser.sign_in_at_the_door()
            browser.open("#/webhooks")
            browser.see("repair the endpoint")
            save(browser, "console-webhooks", 620)
            browser.open("#/now")
            browser.see("is disabled until somebody enables it", ".problem")
            save(browser, "console-alerts", 620)
        finally:
            browser.close()
    finally:
        server.close()
        receiver.close()


def main():
    os.makedirs(IMAGES, exist_ok=True)
    trouble()
    server = Server(BINARY)
    try:
        play(server)
        browser = Browser(server, width=1280, height=900)
        try:
            browser.sign_in()
            for name, place, words, most in [
                    ("console-now", "#/now", "live", 1000), ("console-activity", "#/activities/order-1042",
                                                              "delivering, 5 min", 1100)]:
                browser.open(place)
                browser.see(words)
                browser.see("order-1042")
                save(browser, name, most)
            try_policy(browser)
            save(browser, "console-what-if", 1100)
            browser.look(dark=True)
            browser.open("#/phones")
            browser.see("delivering, 5 min")
            save(browser, "console-phones", 860)
        finally:
            browser.close()
    finally:
        server.close()


if __name__ == "__main__":
    main()
