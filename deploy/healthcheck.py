"""Is the command in this container alive? For HEALTHCHECK: one image, three servers on three ports.

Which one runs is read from the first process's command line. Uses nothing but the standard library: this
starts every few seconds, and importing Quintet would take longer than the question.
"""

from __future__ import annotations

import os
import sys
import urllib.request
from pathlib import Path

#: Command → the setting of its port, and the port where that is not set.
SERVERS = {
    "worker": ("QUINTET_WEB_PORT", "9464"),
    "monitor": ("QUINTET_WEB_PORT", "9465"),
    "console": ("QUINTET_CONSOLE_PORT", "8088"),
}
#: Seconds to wait for an answer; less than the time-out in the Dockerfile.
PATIENCE = 4.0


def address(command_line: list[str]) -> str | None:
    """Where to ask; None for a command that serves nothing."""
    command = next((word for word in command_line if word in SERVERS), None)
    if command is None:
        return None
    setting, default = SERVERS[command]
    return f"http://127.0.0.1:{os.environ.get(setting) or default}/healthz"


def main() -> int:
    """0 if alive; 1 with the reason if not."""
    command_line = Path("/proc/1/cmdline").read_bytes().decode(errors="replace").split("\0")
    url = address(command_line)
    if url is None:
        return 0
    # A proxy from the environment is for the judge's endpoint and would not know this container.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=PATIENCE):
            return 0
    except (OSError, ValueError) as error:
        print(f"{url}: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
