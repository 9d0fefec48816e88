# SPDX-License-Identifier: MIT
"""Finds and runs the tools."""
import os
import shutil
import subprocess
import sys

_PREFIX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prefix")
_CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ToolError(RuntimeError):
    """A tool failed. `code` is its exit code: 1 failed at run time, 2 usage, 3 input refused, 4 a finding, 5 stopped."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def command_of(tool):
    """The command line of a tool: from this package, from the build of its checkout, or from the PATH."""
    for folder in (_PREFIX + "/libexec/lockstep", _PREFIX + "/bin", _CHECKOUT + "/build/bin"):
        path = os.path.join(folder, tool)
        if os.access(path, os.X_OK):
            return [path]
    front = shutil.which("lockstep")
    path = shutil.which(tool)
    if front:
        return [front] if tool == "lockstep" else [front, tool]
    if path:
        return [path]
    raise FileNotFoundError("no tool '%s': neither in this package nor on the PATH" % tool)


def run(tool, *arguments):
    """Runs a tool, waits for it, and returns its standard output as bytes. Raises ToolError with the tool's message."""
    command = command_of(tool) + [os.fspath(argument) for argument in arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise ToolError(said or "%s: exit code %d" % (tool, done.returncode), done.returncode)
    return done.stdout


def main():
    """The commands of this package: replaces the process by the tool of the same name."""
    command = command_of(os.path.basename(sys.argv[0]))
    os.execv(command[0], [sys.argv[0]] + command[1:] + sys.argv[1:])
