"""The pixels of a PNG as cairo writes it: 8 bits a channel, not interlaced."""
import struct
import zlib

CHANNELS = {2: 3, 6: 4}


def chunks(data):
    at = 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def unfilter(kind, line, above, step):
    """The bytes of a line; RFC 2083, section 6."""
    out = bytearray(line)
    for i, byte in enumerate(line):
        left = out[i - step] if i >= step else 0
        up = above[i]
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            guess = min((abs(up - corner), 0, left), (abs(left - corner), 1, up),
                        (abs(left + up - 2 * corner), 2, corner))[2]
        else:
            break
        out[i] = (byte + guess) & 255
    return out


def read(path):
    """(width, height, channels, [bytes of each line])"""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG"
    found = list(chunks(data))
    width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", found[0][1])
    assert depth == 8 and not interlace and color in CHANNELS
    step = CHANNELS[color]
    packed = zlib.decompress(b"".join(content for kind, content in found if kind == b"IDAT"))
    lines, above = [], bytes(width * step)
    for row in range(height):
        start = row * (width * step + 1)
        above = unfilter(packed[start], packed[start + 1:start + 1 + width * step], above, step)
        lines.append(above)
    return width, height, step, lines


def count_different(one, other, least=48):
    """Pixels in which a channel of two pictures of one size differs by so much."""
    (width, height, step, lines), (_, _, _, others) = one, other
    nr = 0
    for line, theirs in zip(lines, others):
        if line == theirs:
            continue
        for x in range(0, width * step, step):
            if line[x:x + step] != theirs[x:x + step] and \
                    any(abs(line[x + i] - theirs[x + i]) >= least for i in range(step)):
                nr += 1
    return nr / (width * height)
