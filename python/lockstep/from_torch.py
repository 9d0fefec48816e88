# SPDX-License-Identifier: MIT
"""python -m lockstep.from_torch: see _command.py. In Python, lockstep.from_torch is a function."""
import sys

from ._command import main

if __name__ == "__main__":
    sys.exit(main())
