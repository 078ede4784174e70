"""What the development broker needs on this machine: Java, and Kafka's jars fetched by Maven."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from worker.errors import UserError

OLDEST_JAVA = 17
INSTALL_HINT = (
    "install them with: apt-get install openjdk-17-jre-headless maven (macOS: brew install openjdk maven)"
)


def fetch_libraries() -> Path:
    """The directory of Kafka's jars, filled by Maven the first time."""
    pom = files("worker.streaming").joinpath("kafka-pom.xml").read_text()
    version = re.search(r"kafka_2\.13</artifactId>\s*<version>(.+?)<", pom)
    libraries = cache_directory() / f"lib-{version[1] if version else 'unknown'}"
    if libraries.is_dir():
        return libraries
    maven = shutil.which("mvn")
    if not maven:
        raise UserError(f"no Maven (mvn) to fetch Apache Kafka with; {INSTALL_HINT}")
    libraries.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=libraries.parent) as scratch:
        _download(maven, pom, Path(scratch))
        # Two first starts at once: whoever is second finds the directory there and uses it.
        with suppress(OSError):
            Path(scratch, "lib").rename(libraries)
    return libraries


def _download(maven: str, pom: str, scratch: Path) -> None:
    (scratch / "pom.xml").write_text(pom)
    command = [maven, "-q", "-B", "-f", str(scratch / "pom.xml"), "dependency:copy-dependencies"]
    command += [f"-DoutputDirectory={scratch / 'lib'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"Maven could not fetch Apache Kafka: {last_line(done.stdout + done.stderr)}")


def require_java() -> str:
    """The path of a Java that Kafka runs on."""
    java = shutil.which("java")
    if not java:
        raise UserError(f"no Java to run Apache Kafka with; {INSTALL_HINT}")
    version = _java_version(java)
    if version is None:
        raise UserError(f"{java} does not say its version, Kafka needs {OLDEST_JAVA}; {INSTALL_HINT}")
    if version < OLDEST_JAVA:
        raise UserError(f"Java {version} is too old, Kafka needs {OLDEST_JAVA}; {INSTALL_HINT}")
    return java


def _java_version(java: str) -> int | None:
    """The major version; up to 8 it stood behind `1.`."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found[1]) if found else None


def cache_directory() -> Path:
    """Where the jars and the brokers' directories are kept."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(root).expanduser() / "quintet" / "kafka"


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"
