"""Reads a page of `vramscope html` by docs/page-format.md alone: no browser, no code of ours."""
import base64
import dataclasses
import html.parser
import json
import zlib

NR_FIELDS = {4: 2, 5: 1, 6: 2, 7: 1, 8: 2, 9: 2, 10: 2, 11: 1, 12: 1}


class Elements(html.parser.HTMLParser):
    """All script elements, as (attributes, text); and every element's attributes."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.scripts = []
        self.all = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.all.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.scripts.append([tag, dict(attrs), ""])

    def handle_data(self, data):
        if self.all and self.all[-1][0] in ("script", "style") and self.cdata_elem:
            self.scripts[-1][2] += data


@dataclasses.dataclass
class Item:
    flags: int
    kind: int
    device: int
    site: int
    pool: int
    owner: int
    api: int
    phase: int
    address: int = 0
    size: int = 0
    born: int = 0
    died: int = None
    live: bool = False


class Column:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def next(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.next()
        return (value >> 1) ^ -(value & 1)

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]


class Trace:
    def __init__(self, parts):
        self.tables = json.loads(zlib.decompress(parts["tables"][0]))
        self.changes = []  # (time, type, item or fields)
        self.items = []
        self.time = self.high = self.low = 0
        for part in parts["changes"]:
            self.read(Column(zlib.decompress(part)))

    def read(self, head):
        nr_changes, nr_births, low_shift, size_shift = (head.next() for _ in range(4))
        columns = [Column(head.take(head.next())) for _ in range(15)]
        assert head.at == len(head.data)
        types, times, items, arguments, *births, high, low, sizes = columns
        new = []
        for _ in range(nr_births):
            item = Item(*(column.next() for column in births))
            self.high += high.signed()
            self.low += low.signed() << low_shift
            item.address = self.high << 32 | self.low
            item.size = sizes.next() << size_shift
            new.append(item)
        for _ in range(nr_changes):
            self.time += times.next()
            kind = types.next()
            if kind == 0:
                new[0].born = len(self.changes)
                self.items.append(new.pop(0))
                what = len(self.items) - 1
            elif kind < 4:
                what = len(self.items) - items.next()
                if kind == 1:
                    self.items[what].died = len(self.changes)
            else:
                what = [arguments.signed() if kind == 4 and i else arguments.next() for i in range(NR_FIELDS[kind])]
            self.changes.append((self.time, kind, what))
        assert not new
        for column in columns:
            assert column.at == len(column.data)

    def changes_at(self, time):
        """How many have happened at a time."""
        return sum(1 for change in self.changes if change[0] <= time)

    def state(self, nr, device):
        """Live and reserved bytes, and the items of a device that are there after so many changes."""
        reserved = 0
        alive = {}
        for _, kind, what in self.changes[:nr]:
            if kind == 0:
                alive[what] = bool(self.items[what].flags & 1)
            elif kind == 1:
                del alive[what]
            elif kind in (2, 3):
                alive[what] = kind == 2
            elif kind == 4 and what[0] == device:
                reserved += what[1]
        ours = {number: live for number, live in alive.items() if self.items[number].device == device}
        live = [self.items[number].size for number, is_live in ours.items() if is_live and self.items[number].flags & 8]
        reserved += sum(self.items[number].size for number in ours if self.items[number].flags & 2 and self.items[number].flags & 8)
        return {"live": sum(live), "count": len(live), "reserved": reserved, "items": [self.items[number] for number in ours]}

    def segments(self, state):
        """Outermost items with an address: address, size, and what is in them, by their addresses."""
        found = []
        items = [item for item in state["items"] if item.flags & 8 and item.flags & 32]
        for item in sorted(items, key=lambda item: (item.address, -item.size)):
            if not item.flags & 64:
                found.append((item, []))
            else:
                assert found[-1][0].address <= item.address < found[-1][0].address + found[-1][0].size
                found[-1][1].append(item)
        return found


class Page:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.text = file.read().decode("utf-8")  # all of it must be
        self.elements = Elements(self.text)
        self.programs = [text for tag, attrs, text in self.elements.scripts if tag == "script" and "type" not in attrs]
        self.styles = [text for tag, attrs, text in self.elements.scripts if tag == "style"]
        self.story = json.loads(self.find("story"))
        parts = {}
        for tag, attrs, text in self.elements.scripts:
            if attrs.get("class") == "part":
                own = parts.setdefault(int(attrs["data-trace"]), {"tables": [], "changes": [], "categories": []})
                own[attrs["data-kind"]].append(base64.b64decode(text, validate=True))
        self.parts = [parts[number] for number in sorted(parts)]
        self.policy = next(attrs["content"] for tag, attrs in self.elements.all
                           if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy")

    def find(self, name):
        return next(text for tag, attrs, text in self.elements.scripts if attrs.get("id") == name)

    def trace(self, number):
        return Trace(self.parts[number])
