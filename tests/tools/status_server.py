#!/usr/bin/python3
"""Stands in for the status socket of a daemon, which sends what a test wants.

usage: status_server.py SOCKET MODE [FILE]

modes: file      the contents of FILE, read anew for each client
       slow      the same, in twenty pieces at most, one each hundredth of a second
       stuck     half of it, and then nothing
       cut       half of it
       empty     nothing
       endless   white space without an end
       silent    takes no connection; the queue of the socket is full
"""
import os
import socket
import sys
import time


def serve(client, mode, text):
    half = len(text) // 2
    if mode == 'file':
        client.sendall(text)
    elif mode == 'slow':
        size = len(text) // 20 + 1
        for begin in range(0, len(text), size):
            client.sendall(text[begin:begin + size])
            time.sleep(0.01)
    elif mode == 'cut':
        client.sendall(text[:half])
    elif mode == 'stuck':
        client.sendall(text[:half])
        return True
    elif mode == 'endless':
        while True:
            client.sendall(b' ' * 65536)
    return False


def main(path, mode, file=None):
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    directory = os.open(os.path.dirname(path), os.O_RDONLY)
    listener.bind(f'/proc/self/fd/{directory}/{os.path.basename(path)}')
    listener.listen(0 if mode == 'silent' else 16)
    queue = []
    if mode == 'silent':
        for _ in range(4):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            queue.append(client)
            try:
                client.connect(f'/proc/self/fd/{directory}/{os.path.basename(path)}')
            except BlockingIOError:
                break
    print('listening', flush=True)
    while mode == 'silent':
        time.sleep(1)
    while True:
        client = listener.accept()[0]
        text = b''
        if file and os.path.exists(file):
            with open(file, 'rb') as source:
                text = source.read()
        try:
            if serve(client, mode, text):
                queue.append(client)
                continue
        except OSError:
            pass
        client.close()


main(*sys.argv[1:])
