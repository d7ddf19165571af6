"""Judge pages in headless Chromium: each width in light and in dark.

Prints a line for each fault: messages of the console, script errors, requests other than
the page itself, text that overflows the page or its axis, text that overlaps, text and
lines without contrast.  Chromium is driven by its DevTools protocol, over a pipe.

usage: browser.py [--screenshots DIRECTORY] [--scheme light|dark] --width WIDTH... PAGE...
"""
import argparse
import base64
import fcntl
import itertools
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE = float(os.environ.get("REDOAHEAD_TEST_PATIENCE", "60"))	# s

# Runs in the page; returns its faults.
JUDGE = r"""
(() => {
  const faults = [];
  const parse = text => {
    const parts = text.match(/[\d.]+/g).map(Number);
    return {rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1};
  };
  const luminance = rgb => {
    const [r, g, b] = rgb.map(part => {
      part /= 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const background = element => {
    for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.alpha > 0) return color.rgb;
    }
    return [255, 255, 255];
  };
  const name = element => element.tagName.toLowerCase() + '.' + element.getAttribute('class') + ' "' +
    element.textContent.trim().slice(0, 40) + '"';
  const root = document.documentElement;
  if (root.scrollWidth > WIDTH) faults.push(`the page is ${root.scrollWidth} px wide, of ${WIDTH}`);
  document.querySelectorAll('script, iframe, object, embed, img, link, form, base').forEach(
    element => faults.push('element ' + element.outerHTML.slice(0, 80)));
  document.querySelectorAll('*').forEach(element => [...element.attributes].forEach(attribute => {
    if (/^on/i.test(attribute.name) || /^(src|href|xlink:href|action)$/i.test(attribute.name))
      faults.push(`attribute ${attribute.name} of ${name(element)}`);
  }));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const axes = [];
  let texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.closest('svg')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width === 0) continue;
    texts++;
    if (/\b(NaN|nan|inf|Infinity|null|undefined)\b/.test(node.data)) faults.push('text of ' + name(element));
    if (!element.closest('.scroll') && (box.left < -0.5 || box.right > WIDTH + 0.5))
      faults.push('outside: ' + name(element));
    const style = getComputedStyle(element);
    if (parseFloat(style.fontSize) < 12) faults.push('small: ' + name(element));
    const found = ratio(parse(style.color).rgb, background(element));
    if (found < 4.5) faults.push(`contrast ${found.toFixed(2)}: ` + name(element));
    if (element.closest('.x, .y')) axes.push([element, box]);
  }
  if (texts < 20) faults.push(`there are only ${texts} texts`);
  axes.forEach(([a, p], i) => axes.slice(i + 1).forEach(([b, q]) => {
    if (a.parentElement.parentElement === b.parentElement.parentElement &&
        p.left < q.right && q.left < p.right && p.top + 2 < q.bottom && q.top + 2 < p.bottom)
      faults.push('overlap: ' + name(a) + ' and ' + name(b));
  }));
  document.querySelectorAll('.line').forEach(line => {
    const found = ratio(parse(getComputedStyle(line).stroke).rgb, background(line.ownerSVGElement));
    if (found < 3) faults.push(`contrast ${found.toFixed(2)} of line ${line.getAttribute('class')}`);
    if (/nan|inf/i.test(line.getAttribute('d'))) faults.push('path ' + line.getAttribute('d').slice(0, 80));
  });
  document.querySelectorAll('.bar i, td .key, .share i').forEach(area => {
    const found = ratio(parse(getComputedStyle(area).backgroundColor).rgb, background(area.parentElement));
    if (found < 3) faults.push(`contrast ${found.toFixed(2)} of area ${area.getAttribute('class')}`);
  });
  document.querySelectorAll('svg').forEach(svg => {
    const box = svg.getBoundingClientRect();
    if (box.width < 200 || box.height < 100) faults.push(`a drawing is ${box.width} px wide`);
  });
  return faults;
})()
"""


def move_up(fd):
    """The same descriptor with another number, above 9."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


class Browser:
    """A headless Chromium with a profile of its own."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="redoahead-chromium.")
        # Above those that the browser gets them as: 3 and 4.
        to_browser, self.out = map(move_up, os.pipe())
        self.back, from_browser = map(move_up, os.pipe())
        program = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
        command = ("exec \"$0\" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run"
                   " --disable-background-networking --disable-extensions --disable-component-update"
                   " --remote-debugging-pipe --user-data-dir=\"$1\" about:blank"
                   f" 3<&{to_browser} 4>&{from_browser} {to_browser}<&- {from_browser}>&-")
        self.process = subprocess.Popen(
            ["bash", "-c", command, program, self.profile], pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=self.profile, DBUS_SESSION_BUS_ADDRESS="disabled:"))
        os.close(to_browser)
        os.close(from_browser)
        self.number = 0
        self.buffer = b""
        self.events = []
        self.session = None

    def receive(self):
        """The next message of the browser."""
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], max(0, end - time.monotonic()))[0]:
                sys.exit("the browser does not respond")
            part = os.read(self.back, 1 << 20)
            if not part:
                sys.exit("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """Call a method, and return its result; events are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        """Wait for an event."""
        while all(event["method"] != method for event in self.events):
            self.events.append(self.receive())

    def open(self):
        """Attach to a page."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Emulation.setScrollbarsHidden", hidden=True)
        for domain in ("Page", "Runtime", "Log", "Network", "Security"):
            self.call(domain + ".enable")

    def close(self):
        """End the browser, and remove what it wrote."""
        try:
            self.session = None
            self.call("Browser.close")
        except (SystemExit, OSError):
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)


def faults_of(browser, url, width, scheme, screenshot):
    """Load a page, and list its faults."""
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url=url)
    browser.wait_for("Page.loadEventFired")
    result = browser.call("Runtime.evaluate", expression=JUDGE.replace("WIDTH", str(width)), returnByValue=True)
    if "exceptionDetails" in result:
        sys.exit(f"the judge failed: {result['exceptionDetails']}")
    faults = list(result["result"]["value"])
    if screenshot:
        image = browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        screenshot.write_bytes(base64.b64decode(image))
    for event in browser.events:
        parameters = event["params"]
        if event["method"] == "Runtime.consoleAPICalled":
            faults.append(f"console: {parameters['args']}")
        elif event["method"] == "Runtime.exceptionThrown":
            faults.append(f"script error: {parameters['exceptionDetails']['text']}")
        elif event["method"] == "Log.entryAdded":
            faults.append(f"log: {parameters['entry']['text']}")
        elif event["method"] == "Page.javascriptDialogOpening":
            sys.exit(f"a script has run: {parameters['message']}")
        elif event["method"] == "Network.requestWillBeSent" and parameters["request"]["url"] != url:
            faults.append(f"request: {parameters['request']['url'][:100]}")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--scheme", choices=("light", "dark"), action="append")
    parser.add_argument("--width", type=int, action="append", required=True)
    parser.add_argument("pages", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    browser = Browser()
    found = False
    try:
        browser.open()
        for page, width, scheme in itertools.product(options.pages, options.width,
                                                     options.scheme or ("light", "dark")):
            name = f"{page.stem}-{width}-{scheme}"
            screenshot = options.screenshots and options.screenshots / (name + ".png")
            for fault in faults_of(browser, page.resolve().as_uri(), width, scheme, screenshot):
                print(f"{name}: {fault}")
                found = True
    finally:
        browser.close()
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
