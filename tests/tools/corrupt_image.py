"""Damage a full-page image in WAL, and make the record's checksum right again.

usage: corrupt_image.py PG_WAL LSN DAMAGE
       corrupt_image.py PG_WAL - digest     digests of the images as they are in
                                            WAL, for the LSNs on standard input

LSN is that of a record whose first block has an image, LSNs of 1 MB segments
on timeline 1.  DAMAGE is what becomes of the image:

  noise   all of its bytes are 0xFF, which no compression method makes
  stream  it is a valid zstd frame if it was zstd, else a valid LZ4 block, of too
          few bytes that are no transformed page
  hole    its hole reaches beyond the end of the page
  kind    its method is one that no server knows

Prints what the image was: its bytes and the bits of bimg_info.
"""
import hashlib
import struct
import sys

SEGMENT = 1 << 20               # bytes in a WAL segment
PAGE = 8192                     # bytes in a WAL page
HEADER = 24                     # bytes of a record's header
HAS_IMAGE, HAS_DATA, SAME_REL = 0x10, 0x20, 0x80
HAS_HOLE, COMPRESSED, ZSTD, EXTENDED = 0x01, 0x1C, 0x10, 0xE0


def crc32c(data):
    """CRC-32C, as PostgreSQL counts."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Record:
    """A record in WAL files, which may go over pages and segments."""

    def __init__(self, directory, lsn):
        self.directory, self.lsn = directory, lsn
        length, = struct.unpack('<I', self.transfer(4))
        self.data = bytearray(self.transfer(length))

    def transfer(self, length, data=None):
        """Read so many bytes from the record's start, or write these there."""
        position, done = self.lsn, b''
        while len(done) < length:
            inside = position % PAGE
            if inside == 0:
                inside = 40 if position % SEGMENT == 0 else 24
                position += inside
            part = min(length - len(done), PAGE - inside)
            name = f'{1:08X}{position >> 32:08X}{(position & 0xFFFFFFFF) // SEGMENT:08X}'
            with open(f'{self.directory}/{name}', 'r+b') as file:
                file.seek(position % SEGMENT)
                if data is None:
                    done += file.read(part)
                else:
                    file.write(data[len(done):len(done) + part])
                    done = data[:len(done) + part]
            position += part
        return done

    def parse(self):
        """Where the first image's header and its bytes are, and how long it is."""
        data, at, lengths, header = self.data, HEADER, [], None
        while at < len(data) - sum(lengths):
            kind = data[at]
            if kind == 255:
                lengths.append(data[at + 1])
                at += 2
            elif kind == 254:
                lengths.append(struct.unpack_from('<I', data, at + 1)[0])
                at += 5
            elif kind == 253:
                at += 3
            elif kind == 252:
                at += 5
            else:
                flags, length = data[at + 1], struct.unpack_from('<H', data, at + 2)[0]
                at += 4
                if flags & HAS_IMAGE:
                    image, _, info = struct.unpack_from('<HHB', data, at)
                    lengths.append(image)
                    header = header or at
                    at += 5
                    if info & EXTENDED or info & COMPRESSED and info & HAS_HOLE:
                        at += 2
                lengths.append(length if flags & HAS_DATA else 0)
                at += (0 if flags & SAME_REL else 12) + 4
        return header, at, lengths[0]

    def write(self):
        """Put the changed record back."""
        data = self.data
        struct.pack_into('<I', data, 20, crc32c(data[HEADER:] + data[:20]))
        self.transfer(len(data), bytes(data))


def literals(length):
    """An LZ4 block of so many bytes, of nothing but literals."""
    for size in range(length):
        extra, run = b'', size - 15
        while run >= 0:
            extra += bytes([min(run, 255)])
            if run < 255:
                break
            run -= 255
        if 1 + len(extra) + size == length:
            return bytes([min(size, 15) << 4]) + extra + b'\xee' * size
    raise ValueError(f'no LZ4 block of {length} bytes')


def zstd_frame(length):
    """A zstd frame of so many bytes, of one raw block."""
    size = length - 12
    return (b'\x28\xb5\x2f\xfd\xa0' + struct.pack('<I', size) + struct.pack('<I', size << 3 | 1)[:3] +
            b'\xee' * size)


def record_at(directory, lsn):
    high, low = lsn.split('/')
    return Record(directory, int(high, 16) << 32 | int(low, 16))


def print_digests(directory):
    for line in sys.stdin:
        record = record_at(directory, line.strip())
        _, image, length = record.parse()
        print(line.strip(), length, hashlib.sha256(record.data[image:image + length]).hexdigest())


def main():
    directory, lsn, damage = sys.argv[1:]
    if damage == 'digest':
        print_digests(directory)
        return
    record = record_at(directory, lsn)
    header, image, length = record.parse()
    print(length, hex(record.data[header + 4]))
    if damage == 'noise':
        record.data[image:image + length] = b'\xff' * length
    elif damage == 'stream':
        make = zstd_frame if record.data[header + 4] & ZSTD else literals
        record.data[image:image + length] = make(length)
    elif damage == 'hole':
        struct.pack_into('<H', record.data, header + 2, 8000)
        struct.pack_into('<H', record.data, header + 5, 1000)
    elif damage == 'kind':
        record.data[header + 4] = record.data[header + 4] & ~EXTENDED & 0xFF | 0x20
    else:
        raise ValueError(damage)
    record.write()


if __name__ == '__main__':
    main()
