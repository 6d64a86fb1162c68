"""Numbers out of bytes: docs/trace-format.md, section 2."""

MASK = (1 << 64) - 1


class Damage(Exception):
    pass


class Bytes:
    """A place in some bytes."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        if size > self.left():
            raise Damage("too short")
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        if value > MASK:
            raise Damage("varint")
        return value

    def zigzag(self):
        folded = self.varint()
        return folded // 2 if folded % 2 == 0 else -(folded + 1) // 2
