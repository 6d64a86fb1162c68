"""Events out of columns: docs/trace-format.md, section 3.5 and nothing else."""

from read_numbers import MASK, Bytes, Damage

SITE, SIZE, ADDRESS, FREE, TIME = 0, 1, 2, 3, 4
SITE_LOW, SIZE_LOW, ADDRESS_LOW, FREE_LOW = 20, 21, 22, 23
TIME_REST, THREAD, NEW_SITES, ROWS, NEW_SIZES, NEW_ADDRESSES = 24, 25, 26, 27, 28, 29
NR_COLUMNS = 30

CLASSES = {16: 0, 17: 1, 27: 2, 28: 3}

# Section 3.5.5: how many fields and rows, and how many values the first field can have.
EVENTS = {
    16: (6, 0, 9),
    17: (3, 0, 9),
    18: (2, 1, 9),
    19: (6, 3, 9),
    20: (0, 2, 0),
    21: (0, 2, 0),
    22: (0, 4, 0),
    23: (0, 4, 0),
    24: (3, 0, 3),
    25: (1, 2, 0),
    26: (1, 0, 0),
    27: (2, 0, 0),
    28: (2, 0, 0),
    29: (2, 1, 0),
    30: (1, 0, 0),
    31: (0, 0, 0),
    32: (0, 1, 0),
    33: (1, 0, 0),
    34: (1, 0, 0),
    35: (0, 1, 0),
    36: (1, 1, 0),
    37: (2, 0, 0),
    38: (1, 1, 0),
    39: (0, 1, 0),
    40: (0, 2, 0),
    41: (2, 0, 0),
    42: (2, 4, 0),
    43: (3, 3, 0),
    44: (3, 1, 0),
}


def check(is_right, what):
    if not is_right:
        raise Damage(what)


def hash_key(key, bits):
    return ((key ^ key >> 25) * 0xD6E8FEB86659FD93 & MASK) >> (64 - bits)


def unpack(data, size):
    data = Bytes(data)
    first, more = data.take(2)
    if more == 0:
        check(not data.left(), "packed column")
        return bytes([first]) * size
    slots = []
    for byte in range(first, first + more + 1):
        frequency = data.varint()
        check(byte < 256 and frequency < 4096, "frequency")
        slots += [(byte, frequency, i) for i in range(frequency)]
    check(len(slots) == 4096, "frequencies")
    states = [int.from_bytes(data.take(4), "little") for _ in range(4)]
    column = bytearray()
    for i in range(size):
        state = states[i % 4]
        byte, frequency, above = slots[state % 4096]
        state = frequency * (state // 4096) + above
        if state < 65536:
            state = state * 65536 + int.from_bytes(data.take(2), "little")
        states[i % 4] = state
        column.append(byte)
    check(states == [65536] * 4 and not data.left(), "packed column")
    return bytes(column)


def numbers(data):
    """Yields what was read with them; ends only if there are no more."""
    if not data.left():
        return
    lowest = data.varint()
    shift, width = data.take(2)
    check(shift < 64 and width <= 8, "numbers")
    if width == 0:
        while True:
            yield lowest
    check(data.left() % width == 0, "numbers")
    nr = data.left() // width
    planes = data.take(nr * width)
    for i in range(nr):
        yield (lowest + (int.from_bytes(planes[i::nr], "little") << shift)) & MASK


class Thread:
    def __init__(self, number):
        self.id = number
        self.sites = [65535] * 3
        self.address = 0


class Site:
    def __init__(self, number, kind, fields, nr_rows, thread):
        self.number = number
        self.kind = kind
        self.fields = fields
        self.rows = [0] * nr_rows
        self.size = None
        self.mean = 0
        self.next_thread = thread


class Allocation:
    def __init__(self, address, size):
        self.address = address
        self.size = size
        self.state = "live"


class Context:
    def __init__(self, site, mean):
        self.site = site
        self.mean = mean
        self.count = 0
        self.rank = None


class Columns:
    def __init__(self, data):
        self.unit, self.now = data.varint(), data.varint()
        check(self.unit > 0, "unit")
        sizes = [(data.varint(), data.varint()) for _ in range(data.varint())]
        self.columns = []
        for size, stored in sizes:
            check(stored <= size, "size of a column")
            column = data.take(stored)
            if len(self.columns) < NR_COLUMNS:
                self.columns.append(Bytes(column if stored == size else unpack(column, size)))
        check(not data.left(), "bytes behind the columns")
        self.columns += [Bytes(b"") for _ in range(NR_COLUMNS - len(self.columns))]
        self.new_sizes = numbers(self.columns[NEW_SIZES])
        self.new_addresses = numbers(self.columns[NEW_ADDRESSES])
        self.threads, self.sizes, self.freed = [], [], []
        self.nr_sites, self.newest_sites = 0, {}
        self.sites = [[] for _ in range(5)]  # of each class
        self.allocations, self.live = [], []
        self.contexts, self.places = {}, {}
        self.last_site = None

    def byte(self, column):
        return self.columns[column].take(1)[0]

    def low(self, column, byte, first):
        """The number of a byte that is not a prediction."""
        if byte == 255:
            return int.from_bytes(self.columns[column].take(2), "little")
        return (byte - first) * 256 + self.byte(column)

    @staticmethod
    def next_of(numbers_left):
        number = next(numbers_left, None)
        check(number is not None, "too few numbers")
        return number

    def allocation(self, number):
        check(0 <= number < len(self.allocations), "allocation")
        return self.allocations[number]

    def read_thread(self, byte):
        if byte == 253:
            number = self.columns[THREAD].varint()
            if number == len(self.threads):
                self.threads.append(Thread(self.columns[THREAD].varint()))
            check(number < len(self.threads), "thread")
            thread, byte = self.threads[number], self.byte(SITE)
        else:
            check(self.last_site is not None, "thread")
            thread = self.last_site.next_thread
        if self.last_site:
            self.last_site.next_thread = thread
        return thread, byte

    def read_new_site(self, thread):
        column = self.columns[NEW_SITES]
        kind, nr_fields, nr_rows = column.take(3)
        newest = self.newest_sites.get(kind)
        before = (newest.fields if newest else []) + [0] * nr_fields
        fields = [(before[i] + column.zigzag()) & 0xFFFFFFFF for i in range(nr_fields)]
        least_fields, least_rows, limit = EVENTS.get(kind, (0, 0, 0))
        check(kind >= 16 and nr_fields >= least_fields and nr_rows >= least_rows, "site")
        check(not limit or fields[0] < limit, "kind or change")
        site = Site(self.nr_sites, kind, fields, nr_rows, thread)
        self.nr_sites += 1
        self.newest_sites[kind] = site
        self.sites[CLASSES.get(kind, 4)].append(site)
        return site

    def known_site(self, number_of_class, number):
        check(number_of_class < 5 and number < len(self.sites[number_of_class]), "site")
        return self.sites[number_of_class][number]

    def read_site(self, byte, thread, context):
        if byte == 0:
            check(context, "empty context")
            return context.site
        if byte == 1:
            return self.read_new_site(thread)
        check(byte < 253, "site")
        if byte == 252:
            number_of_class = self.byte(SITE_LOW)
            number = int.from_bytes(self.columns[SITE_LOW].take(2), "little")
            return self.known_site(number_of_class, number)
        return self.known_site((byte - 2) % 5, (byte - 2) // 5 * 256 + self.byte(SITE_LOW))

    def read_time(self, site, context):
        mean = context.mean + 8
        power = mean.bit_length() - 1
        byte = self.byte(TIME + min(2 * power - 6 + (2 * mean >= 3 << power), 15))
        check(byte not in (252, 253, 254), "time")
        if byte < 128:
            units = byte
        elif byte < 255:
            shift = (byte - 128) // 4 + 5
            rest = self.columns[TIME_REST].varint()
            check(rest < 1 << shift, "time")
            units = ((4 + byte % 4) << shift) + rest
        else:
            units = self.columns[TIME_REST].zigzag()
        self.now = (self.now + units) & MASK
        if units < 0:
            return
        x = min(units * 16, 65520, context.mean + 1024)
        context.mean += (x >> context.count) - (context.mean >> context.count)
        context.count = min(context.count + 1, 3)
        site.mean = context.mean

    def read_size(self, site, place):
        byte = self.byte(SIZE)
        if byte == 0:
            check(place, "empty place")
            return place[0]
        if byte == 1:
            check(site.size is not None, "size of a site")
            return site.size
        if byte == 2:
            self.sizes.append(self.next_of(self.new_sizes))
            self.freed.append([])
            return len(self.sizes) - 1
        size = self.low(SIZE_LOW, byte, 3)
        check(size < len(self.sizes), "size")
        return size

    def read_reused(self, byte, size, place):
        if byte == 0:
            check(place, "empty place")
            return self.allocation(place[1])
        if byte == 1:
            left = [a for a in self.freed[size] if a.state == "freed"]
            check(left, "nothing freed")
            return left[-1]
        return self.allocation(len(self.allocations) - 1 - self.low(ADDRESS_LOW, byte, 4))

    def read_address(self, size, place):
        byte = self.byte(ADDRESS)
        if byte == 2:
            if not self.allocations:
                return 0
            before = self.allocations[-1]
            return (before.address + ((self.sizes[before.size] + 511) & MASK & ~511)) & MASK
        if byte == 3:
            return self.next_of(self.new_addresses)
        reused = self.read_reused(byte, size, place)
        if reused.state == "freed":
            reused.state = "reused"
        return reused.address

    def read_alloc(self, site, thread, number):
        key = hash_key(thread.address ^ site.number << 48, 16)
        size = self.read_size(site, self.places.get(key))
        address = self.read_address(size, self.places.get(key))
        self.places[key] = (size, number)
        self.allocations.append(Allocation(address, size))
        self.live.append(self.allocations[-1])
        site.size = size
        thread.address = address
        return address, self.sizes[size]

    def read_free(self, thread, context):
        byte = self.byte(FREE)
        if byte == 1:
            thread.address = self.next_of(self.new_addresses)
            return thread.address
        if byte == 0:
            check(context.rank is not None and context.rank < len(self.live), "rank")
            freed = self.live[-1 - context.rank]
        else:
            number = len(self.allocations) - 1 - self.low(FREE_LOW, byte, 2)
            freed = self.allocation(number)
        check(freed.state == "live", "freed twice")
        rank = len(self.live) - 1 - self.live.index(freed)
        context.rank = rank if rank < 8 else None
        self.live.remove(freed)
        freed.state = "freed"
        self.freed[freed.size].append(freed)
        thread.address = freed.address
        return freed.address

    def read_rows(self, site):
        site.rows = [(row + self.columns[ROWS].zigzag()) & MASK for row in site.rows]
        return site.rows[: EVENTS.get(site.kind, (0, 0, 0))[1]]

    def read_event(self):
        """Type, time in ns, thread, and all other fields in some order."""
        thread, byte = self.read_thread(self.byte(SITE))
        a, b, d = thread.sites
        key = hash_key(a | b << 16 | d << 32, 15)
        site = self.read_site(byte, thread, self.contexts.get(key))
        context = self.contexts.get(key)
        if not context or context.site is not site:
            context = self.contexts[key] = Context(site, site.mean)
        thread.sites = [site.number, a, b]
        self.last_site = site
        self.read_time(site, context)
        fields = site.fields[: EVENTS.get(site.kind, (0, 0, 0))[0]]
        if site.kind in (16, 27):
            fields += self.read_alloc(site, thread, len(self.allocations))
        elif site.kind in (17, 28):
            fields.append(self.read_free(thread, context))
        fields += self.read_rows(site)
        return site.kind, self.now * self.unit & MASK, thread.id, fields


def read_columns(data, nr):
    columns = Columns(data)
    for _ in range(nr):
        yield columns.read_event()
    check(not any(column.left() for column in columns.columns), "columns go on")
