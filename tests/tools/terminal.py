#!/usr/bin/python3
"""Runs a command in a terminal, and shows what is on its screen.

usage: terminal.py COLUMNSxLINES STEP... -- COMMAND...

steps, one after the other:
    wait:TEXT      until the screen has it; ^ at its beginning: a line begins so
    gone:TEXT      until the screen has it no more
    size:WxH       change the size
    key:TEXT       type it
    signal:NAME    to the command
    stopped        until the command is stopped, the terminal as it was
    run:COMMAND    a shell command
    hangup         close the terminal
    print          the screen
    end            until the command ends; prints `status N`, 128 + SIGNAL for a signal

Fails where a step takes too long, where the command writes what this terminal does not
know, and where the command leaves the terminal in another state than it was in.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = float(os.environ.get('REDOAHEAD_TEST_PATIENCE', 60))
SEQUENCE = re.compile(r'\x1b(?:\[([?>]?)([\d;]*)([@-~])|([()])(.)|([=>78M])|\](.*?)(?:\x07|\x1b\\))', re.S)


class Screen:
    """What xterm shows, as far as ncurses uses it."""

    def __init__(self, columns, lines):
        self.resize(columns, lines)
        self.alternate = self.hidden = False

    def resize(self, columns, lines):
        self.columns, self.height = columns, lines
        self.cells = [[' '] * columns for _ in range(lines)]
        self.x = self.y = 0

    def clip(self):
        self.x = max(0, min(self.x, self.columns - 1))
        self.y = max(0, min(self.y, self.height - 1))

    def put(self, character):
        if character == '\r':
            self.x = 0
        elif character == '\n':
            self.y += 1
            if self.y == self.height:
                self.cells = self.cells[1:] + [[' '] * self.columns]
        elif character == '\b':
            self.x -= 1
        elif character >= ' ':
            self.clip()
            self.cells[self.y][self.x] = self.last = character
            self.x += 1
            return
        elif character not in '\x07\x0e\x0f':
            sys.exit(f'the terminal does not know {character!r}')
        self.clip()

    def control(self, private, numbers, final):
        values = [int(number or 0) for number in numbers.split(';')]
        count = max(values[0], 1)
        if private or final in 'hl':
            self.alternate = final == 'h' if 1049 in values else self.alternate
            self.hidden = final == 'l' if 25 in values else self.hidden
        elif final in 'Hf':
            self.y, self.x = count - 1, (values[1:] or [1])[0] - 1
        elif final in 'ABCD':
            self.y += {'A': -count, 'B': count}.get(final, 0)
            self.x += {'C': count, 'D': -count}.get(final, 0)
        elif final == 'd':
            self.y = count - 1
        elif final == 'G':
            self.x = count - 1
        elif final == 'J':
            for y in range(self.height):
                if values[0] == 2 or (values[0] == 0) == (y > self.y) and y != self.y:
                    self.cells[y] = [' '] * self.columns
            if values[0] < 2:
                self.control('', numbers, 'K')
        elif final == 'K':
            begin, end = [(self.x, self.columns), (0, self.x + 1), (0, self.columns)][values[0]]
            self.cells[self.y][begin:end] = [' '] * (min(end, self.columns) - begin)
        elif final == 'X':
            for x in range(self.x, min(self.x + count, self.columns)):
                self.cells[self.y][x] = ' '
        elif final == 'P':
            row = self.cells[self.y]
            self.cells[self.y] = (row[:self.x] + row[self.x + count:] + [' '] * count)[:self.columns]
        elif final == '@':
            row = self.cells[self.y]
            self.cells[self.y] = (row[:self.x] + [' '] * count + row[self.x:])[:self.columns]
        elif final in 'LM':
            rows = self.cells[self.y:]
            blank = [[' '] * self.columns for _ in range(count)]
            rows = blank + rows if final == 'L' else rows[count:] + blank
            self.cells = (self.cells[:self.y] + rows)[:self.height]
            self.cells += [[' '] * self.columns for _ in range(self.height - len(self.cells))]
        elif final == 'b':
            for _ in range(count):
                self.put(self.last)
        elif final not in 'mrt':
            sys.exit(f'the terminal does not know CSI {numbers} {final}')
        if final not in 'CGH' or self.x != self.columns:
            self.clip()

    def write(self, text):
        """Returns what is an incomplete sequence at its end."""
        at = 0
        while at < len(text):
            if text[at] != '\x1b':
                self.put(text[at])
                at += 1
                continue
            match = SEQUENCE.match(text, at)
            if not match:
                if len(text) - at > 30:
                    sys.exit(f'the terminal does not know {text[at:at + 30]!r}')
                break
            if match[3]:
                self.control(*match.group(1, 2, 3))
            at = match.end()
        return text[at:]

    def lines(self):
        return [''.join(row).rstrip() for row in self.cells]


def foreground():
    """Become the terminal's foreground process group, as a shell has a command do it."""
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    os.tcsetpgrp(0, os.getpid())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU])


def lead(slave, command):
    """Lead the terminal's session, as a shell does: the kernel stops no process whose group
    has no parent in another group of the session."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, preexec_fn=foreground)
    signal.signal(signal.SIGHUP, lambda number, _: process.send_signal(number))
    signal.signal(signal.SIGTERM, lambda *_: process.kill())
    status = process.wait()
    os._exit(status if status >= 0 else 128 - status)


class Terminal:
    def __init__(self, size, command):
        self.master, self.slave = pty.openpty()
        self.screen = Screen(*size)
        self.set_size(size)
        self.state = termios.tcgetattr(self.slave)
        self.rest, self.bytes = '', b''
        self.status = None
        self.leader = os.fork()
        if self.leader == 0:
            os.close(self.master)
            lead(self.slave, command)

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.leader, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    def is_stopped(self):
        with open(f'/proc/{os.tcgetpgrp(self.master)}/stat') as stat:
            return stat.read().rsplit(')', 1)[1].split()[0] == 'T'

    def check_state(self):
        """Fail if the terminal is not as it was once all output is there."""
        # The kernel gives it in pieces of 4 kB.
        while self.pump(0):
            pass
        if termios.tcgetattr(self.slave) != self.state or self.screen.alternate or self.screen.hidden:
            sys.exit('the terminal is not as it was')

    def set_size(self, size):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', size[1], size[0], 0, 0))

    def pump(self, seconds=0.02):
        """Show some of what the command has written; returns whether there was any."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.bytes += os.read(self.master, 65536)
        text = self.bytes.decode(errors='ignore')
        # A character may come in two parts.
        self.bytes = b'' if text.encode() == self.bytes else self.bytes[len(text.encode()):]
        self.rest = self.screen.write(self.rest + text)
        return True

    def until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                print(*self.screen.lines(), sep='\n')
                sys.exit(f'waited in vain for {what}')
            self.pump()

    def shows(self, text):
        if text.startswith('^'):
            return any(line.startswith(text[1:]) for line in self.screen.lines())
        return any(text in line for line in self.screen.lines())

    def step(self, name, value):
        if name == 'wait':
            self.until(f'"{value}"', lambda: self.shows(value))
        elif name == 'gone':
            self.until(f'the end of "{value}"', lambda: not self.shows(value))
        elif name == 'size':
            size = tuple(map(int, value.split('x')))
            self.pump(0)
            self.screen.resize(*size)
            self.set_size(size)
        elif name == 'key':
            os.write(self.master, value.encode())
        elif name == 'signal':
            os.killpg(os.tcgetpgrp(self.master), getattr(signal, value))
        elif name == 'stopped':
            self.until('the command to stop', self.is_stopped)
            self.check_state()
        elif name == 'run':
            subprocess.run(value, shell=True, check=True)
        elif name == 'print':
            print(*self.screen.lines(), sep='\n')
        elif name == 'hangup':
            os.close(self.slave)
            os.close(self.master)
            end = time.monotonic() + PATIENCE
            while not self.ended():
                if time.monotonic() > end:
                    sys.exit('waited in vain for the end')
                time.sleep(0.02)
            print('status', self.status)
        elif name == 'end':
            self.until('the end', self.ended)
            print('status', self.status)
            self.check_state()
        else:
            sys.exit(f'no step {name}')


def main(size, *arguments):
    at = arguments.index('--')
    terminal = Terminal(tuple(map(int, size.split('x'))), arguments[at + 1:])
    try:
        for step in arguments[:at]:
            terminal.step(*(step.split(':', 1) + [''])[:2])
    finally:
        if not terminal.ended():
            os.kill(terminal.leader, signal.SIGTERM)


main(*sys.argv[1:])
