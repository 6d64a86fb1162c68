"""preload/cuda_api.def, the one list of what is hooked, as a test sees it."""
import os
import re
from dataclasses import dataclass

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../preload/cuda_api.def")


@dataclass(frozen=True)
class Hook:
    name: str  # as cuGetProcAddress is asked
    version: int
    symbol: str

    @property
    def is_per_thread(self):
        return self.symbol.endswith("_ptsz")


class HookList:
    def __init__(self, path=PATH):
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        self.driver = [Hook(name, int(version), symbol) for name, version, symbol in
                       re.findall(r'^VS_HOOK\("(\w+)", (\d+), (\w+)\)', text, re.M)]
        self.others = {(name, int(version)) for name, version in
                       re.findall(r'^VS_OTHER_ABI\("(\w+)", (\d+)\)', text, re.M)}
        self.runtime = re.findall(r"^VS_RUNTIME_HOOK\((\w+)\)", text, re.M)
        assert len(self.driver) > 50 and len(self.runtime) > 20, "the list was not understood"

    def find(self, name, version, is_per_thread):
        """The symbol that a look-up must get; None: none of ours."""
        rows = [hook for hook in self.driver if hook.name == name and hook.version <= version]
        newest = max((hook.version for hook in rows), default=None)
        if newest is None or any(other == name and newest < since <= version
                                 for other, since in self.others):
            return None
        rows = [hook for hook in rows if hook.version == newest]
        wanted = [hook for hook in rows if hook.is_per_thread == is_per_thread]
        return (wanted or rows)[0].symbol
