#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at pages as a browser lays them out, and prints what a reader would stumble over.

    browser.py CHROMIUM FOLDER PAGE.html...

Each page is laid out 1280 and 390 pixels wide, light and dark (tests/fixtures/page_checks.js), and
printed: no heading stands at the foot of a sheet. FOLDER gets what that needs. If LOCKSTEP_SCREENSHOTS
is set, that folder gets each page as it is printed, and a picture of its first screen, light and
dark. One browser does all of it, by the DevTools protocol.
"""
import base64
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

CHECKS = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "page_checks.js"
WIDTHS = (1280, 390)
HEIGHT = 900
SCHEMES = ("light", "dark")


class Browser:
    """A Chromium with one page. Messages are JSON that ends in a zero byte, on its descriptors 3 and 4."""

    def __init__(self, chromium, folder):
        requests, self.requests = os.pipe()
        self.replies, replies = os.pipe()
        command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                   f"--user-data-dir={folder / 'profile'}", "about:blank"]
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{requests} 4>&{replies}', "sh", *command], pass_fds=(requests, replies),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(requests)
        os.close(replies)
        self.rest, self.number, self.session = b"", 0, {}
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = {"sessionId": self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]}
        self.call("Page.enable")

    def receive(self):
        while b"\0" not in self.rest:
            part = os.read(self.replies, 1 << 16)
            if not part:
                sys.exit("the browser ended")
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        request = json.dumps({"id": self.number, "method": method, "params": parameters, **self.session}).encode() + b"\0"
        while request:
            request = request[os.write(self.requests, request):]
        while True:
            reply = self.receive()
            if reply.get("id") == self.number:
                if "error" in reply:
                    sys.exit(f"the browser: {method}: {reply['error']['message']}")
                return reply["result"]

    def open(self, page):
        self.call("Page.navigate", url=page.as_uri())
        self.evaluate("new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))")

    def evaluate(self, expression):
        reply = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in reply:
            sys.exit(f"the browser: {json.dumps(reply['exceptionDetails'])}")
        return reply["result"].get("value")

    def show(self, width, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=HEIGHT, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def end(self):
        self.session = {}
        self.call("Browser.close")
        self.process.wait(60)


def faults(browser, page):
    found = []
    for width in WIDTHS:
        for scheme in SCHEMES:
            browser.show(width, scheme)
            own = browser.evaluate(f"{CHECKS.read_text(encoding='utf-8')}; pageFaults(document, {str(width > 600).lower()})")
            found += [f"{page.parent.name}, {width} px, {scheme}: {fault}" for fault in own]
    return found


def lonely_headings(browser, folder, page):
    """Prints the page, and returns the headings at the foot of a sheet."""
    pdf = folder / f"{page.parent.name}.pdf"
    browser.show(WIDTHS[0], SCHEMES[0])
    pdf.write_bytes(base64.b64decode(browser.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"]))
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], stdout=subprocess.PIPE, check=True).stdout.decode()
    headings = {html.unescape(re.sub("<[^>]*>", "", h)).strip()
                for h in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", page.read_text(encoding="utf-8"), re.S)}
    sheets = [[line.strip() for line in sheet.splitlines() if line.strip()] for sheet in text.split("\f")]
    return [f"{page.parent.name}, printed: '{sheet[-1]}' stands at the foot of a sheet"
            for sheet in sheets[:-1] if sheet and sheet[-1] in headings]


def keep(browser, folder, page, kept):
    name = page.parent.name
    shutil.copy(folder / f"{name}.pdf", kept)
    for scheme in SCHEMES:
        browser.show(WIDTHS[0], scheme)
        (kept / f"{name}-{scheme}.png").write_bytes(base64.b64decode(browser.call("Page.captureScreenshot")["data"]))


def main():
    chromium, folder, *names = sys.argv[1:]
    folder, pages = pathlib.Path(folder).resolve(), [pathlib.Path(name).resolve() for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    browser, found = Browser(chromium, folder), []
    for page in pages:
        browser.open(page)
        found += faults(browser, page) + lonely_headings(browser, folder, page)
        if "LOCKSTEP_SCREENSHOTS" in os.environ:
            kept = pathlib.Path(os.environ["LOCKSTEP_SCREENSHOTS"]).resolve()
            kept.mkdir(parents=True, exist_ok=True)
            keep(browser, folder, page, kept)
    browser.end()
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
