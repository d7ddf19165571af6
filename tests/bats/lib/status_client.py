#!/usr/bin/python3
"""A client of the status socket.

usage: status_client.py read SOCKET      print what is sent; fails unless that is a JSON document
       status_client.py disturb SOCKET   garbage, readers that do not read, a thousand connections
"""
import json
import os
import socket
import struct
import sys

PATIENCE = 20


def connect(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Not settimeout(), with which connect() does not wait for its turn.
    for option in socket.SO_SNDTIMEO, socket.SO_RCVTIMEO:
        client.setsockopt(socket.SOL_SOCKET, option, struct.pack('ll', PATIENCE, 0))
    # A path may be longer than an address can hold.
    directory = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        client.connect(f'/proc/self/fd/{directory}/{os.path.basename(path)}')
    finally:
        os.close(directory)
    return client


def read(client):
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    client.close()
    return b''.join(parts).decode()


def disturb(path):
    print('begun', flush=True)
    slow = [connect(path) for _ in range(20)]
    for n in range(20):
        client = connect(path)
        try:
            client.sendall(os.urandom(1 + n * 20000))
        except OSError:
            pass
        client.close()
    answered = 0
    for _ in range(1000):
        client = connect(path)
        answered += bool(json.loads(read(client)))
    for client in slow:
        json.loads(read(client))
    print(answered, 'connections')


if __name__ == '__main__':
    if sys.argv[1] == 'disturb':
        disturb(sys.argv[2])
    else:
        text = read(connect(sys.argv[2]))
        json.loads(text)
        sys.stdout.write(text)
