#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Looks at pages as a browser lays them out, and prints what a reader would stumble over.

    browser.py CHROMIUM FOLDER PAGE.html...

Each page is laid out 1280 and 390 pixels wide, light and dark (tests/fixtures/page_checks.js), and
printed: no heading stands at the foot of a sheet. FOLDER gets what that needs. If LOCKSTEP_SCREENSHOTS
is set, that folder gets each page as it is printed, and a picture of its first screen, light and
dark.
"""
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
SCHEMES = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"]}

FRAME = '<iframe name="{name}" data-wide="{wide}" srcdoc="{page}" style="border:0;width:{width}px;height:900px"></iframe>'
SCRIPT = """
addEventListener("load", () => {
  const found = {};
  for (const frame of document.querySelectorAll("iframe"))
    found[frame.name] = pageFaults(frame.contentDocument, frame.dataset.wide === "1");
  document.body.textContent = "";
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(found);
  document.body.append(result);
});
"""


def browse(chromium, folder, *arguments):
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               f"--user-data-dir={folder / 'profile'}", *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120, check=True).stdout


def faults(chromium, folder, pages):
    frames = [FRAME.format(name=f"{page.parent.name}, {width} px", wide=int(width > 600), width=width,
                           page=html.escape(page.read_text(encoding="utf-8")))
              for page in pages for width in WIDTHS]
    wrapper = folder / "pages.html"
    wrapper.write_text("<!DOCTYPE html><meta charset=utf-8><body style='margin:0'>" + "\n".join(frames) +
                       f"<script>{CHECKS.read_text(encoding='utf-8')}{SCRIPT}</script>", encoding="utf-8")
    found = []
    for scheme, arguments in SCHEMES.items():
        dom = browse(chromium, folder, *arguments, "--window-size=1400,1000", "--virtual-time-budget=20000", "--dump-dom",
                     wrapper.as_uri()).decode()
        result = re.search(r'<pre id="result">(.*?)</pre>', dom, re.S)
        if not result:
            sys.exit("the browser gave no result")
        for name, own in json.loads(html.unescape(result.group(1))).items():
            found += [f"{name}, {scheme}: {fault}" for fault in own]
    return found


def lonely_headings(chromium, folder, page):
    """Prints the page, and returns the headings at the foot of a sheet."""
    pdf = folder / f"{page.parent.name}.pdf"
    browse(chromium, folder, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri())
    text = subprocess.run(["pdftotext", "-layout", pdf, "-"], stdout=subprocess.PIPE, check=True).stdout.decode()
    headings = {html.unescape(re.sub("<[^>]*>", "", h)).strip()
                for h in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", page.read_text(encoding="utf-8"), re.S)}
    sheets = [[line.strip() for line in sheet.splitlines() if line.strip()] for sheet in text.split("\f")]
    return [f"{page.parent.name}, printed: '{sheet[-1]}' stands at the foot of a sheet"
            for sheet in sheets[:-1] if sheet and sheet[-1] in headings]


def keep(chromium, folder, page, kept):
    name = page.parent.name
    shutil.copy(folder / f"{name}.pdf", kept)
    for scheme, arguments in SCHEMES.items():
        browse(chromium, folder, *arguments, "--window-size=1280,900", f"--screenshot={kept / f'{name}-{scheme}.png'}",
               page.as_uri())


def main():
    chromium, folder, *names = sys.argv[1:]
    folder, pages = pathlib.Path(folder).resolve(), [pathlib.Path(name).resolve() for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    found = faults(chromium, folder, pages)
    for page in pages:
        found += lonely_headings(chromium, folder, page)
        if "LOCKSTEP_SCREENSHOTS" in os.environ:
            kept = pathlib.Path(os.environ["LOCKSTEP_SCREENSHOTS"]).resolve()
            kept.mkdir(parents=True, exist_ok=True)
            keep(chromium, folder, page, kept)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
