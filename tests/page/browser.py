"""Chromium, driven over WebDriver by the standard library alone."""
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Enter": "\ue007",
        "Tab": "\ue004", "Escape": "\ue00c", "Home": "\ue011", "End": "\ue010", "Shift": "\ue008",
        "Control": "\ue009"}


def find():
    """Chromium and its driver, or None."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (chromium, driver) if chromium and driver else None


def need():
    """The same, or the end of the test: it is skipped with a reason."""
    found = find()
    if not found:
        print("Chromium or chromedriver is not installed: apt-get install chromium chromium-driver")
        sys.exit(77)
    return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Browser:
    def __init__(self, scratch, width=1400, height=1000, dark=False, scale=1):
        chromium, driver = need()
        self.port = free_port()
        self.log = open(os.path.join(scratch, "chromedriver.log"), "w", encoding="utf-8")
        env = dict(os.environ, HOME=scratch, LD_LIBRARY_PATH="", LSAN_OPTIONS="", ASAN_OPTIONS="")
        self.driver = subprocess.Popen([driver, f"--port={self.port}"], stdout=self.log, stderr=self.log, env=env)
        self.session = None
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   f"--window-size={width},{height}", f"--force-device-scale-factor={scale}",
                   "--hide-scrollbars", "--no-first-run", "--enable-precise-memory-info",
                   "--disable-background-networking", f"--user-data-dir={scratch}/profile-{self.port}"]
        if dark:
            options.append("--blink-settings=preferredColorScheme=0")
        wanted = {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"binary": chromium, "args": options},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "timeouts": {"script": 120000, "pageLoad": 120000}}}}
        for _ in range(200):
            try:
                self.session = self.ask("POST", "/session", wanted)["sessionId"]
                break
            except (ConnectionError, urllib.error.URLError) as error:
                if isinstance(error, urllib.error.HTTPError):
                    raise
                time.sleep(0.1)
        if not self.session:
            raise RuntimeError("chromedriver does not answer")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.ask("DELETE", f"/session/{self.session}")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.log.close()

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            said = error.read().decode(errors="replace")
            raise RuntimeError(f"{path}: {said[:2000]}") from error

    def post(self, path, body):
        return self.ask("POST", f"/session/{self.session}{path}", body)

    def get(self, path):
        return self.ask("GET", f"/session/{self.session}{path}")

    def open(self, url):
        self.post("/url", {"url": url})

    def run(self, script, *arguments):
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        return self.post("/execute/async", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments, seconds=60):
        """Until the script returns something true; what it returned."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(script, *arguments)
            if value:
                return value
            time.sleep(0.03)
        raise AssertionError(f"never true: {script}")

    def find(self, selector):
        return self.post("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", selector)
        self.post(f"/element/{self.find(selector)}/click", {})

    def type(self, selector, *keys):
        text = "".join(KEYS.get(key, key) for key in keys)
        self.post(f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        """Keys to whatever has the focus."""
        actions = []
        for key in keys:
            code = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": code}, {"type": "keyUp", "value": code}]
        self.post("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def drag(self, selector, start, end, duration=200):
        """Places in the element, in pixels from its upper left corner. Equal ones: a click."""
        box = self.run("const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center', behavior: 'instant'});"
                       "const b = e.getBoundingClientRect(); return [b.left, b.top];", selector)
        at = [[round(box[0] + x), round(box[1] + y)] for x, y in (start, end)]
        moves = [{"type": "pointerMove", "duration": 0, "x": at[0][0], "y": at[0][1]}, {"type": "pointerDown", "button": 0}]
        if start != end:
            moves.append({"type": "pointerMove", "duration": duration, "x": at[1][0], "y": at[1][1]})
        moves.append({"type": "pointerUp", "button": 0})
        self.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}]})

    def hover(self, selector, x, y):
        box = self.run("const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center', behavior: 'instant'});"
                       "const b = e.getBoundingClientRect(); return [b.left, b.top];", selector)
        self.post("/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [
            {"type": "pointerMove", "duration": 0, "x": round(box[0] + x), "y": round(box[1] + y)}]}]})

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def screenshot(self, path, whole=False):
        if whole:
            size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
            data = self.devtools("Page.captureScreenshot", captureBeyondViewport=True,
                                 clip={"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1})["data"]
        else:
            data = self.get("/screenshot")
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def console(self):
        """What the console said since the last time, but for plain logs."""
        return [entry for entry in self.post("/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses that were asked for since the last time."""
        found = []
        for entry in self.post("/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found
