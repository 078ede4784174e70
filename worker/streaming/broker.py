"""A real single-node Apache Kafka for development and tests, from Maven Central.

Each broker lives in a directory of its own: configuration, data, log, and a file that names its process.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from string import Template
from types import TracebackType
from typing import Self

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from worker.errors import UserError
from worker.streaming.installation import cache_directory, fetch_libraries, last_line, require_java
from worker.streaming.processes import Process

DEFAULT_PORT = 9092
HEAP = "512m"
#: Seconds to wait for the answer to a metadata request; after a kill -9 the log is recovered first.
READY_TIMEOUT = 90.0
#: Seconds that an orderly stop may take before the process is killed.
STOP_TIMEOUT = 20.0


class Broker:
    """One broker on one port, in one directory; survives the program that started it unless stopped."""

    def __init__(self, port: int | None = None, directory: Path | None = None) -> None:
        self.port = port or free_port()
        self.directory = directory or default_directory(self.port)
        self.log_file = self.directory / "kafka.log"
        self._config = self.directory / "server.properties"
        self._data = self.directory / "data"
        self._pid_file = self.directory / "broker.json"

    @property
    def address(self) -> str:
        """host:port for clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def process(self) -> Process | None:
        """The broker's process, if it really is this broker's and alive."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            noted = json.loads(self._pid_file.read_text())
            process = Process(int(noted["pid"]), str(noted["started"]))
            if process.is_alive() and str(self._config) in process.command_line():
                return process
        return None

    def start(self, timeout: float = READY_TIMEOUT) -> None:
        """Start and wait until it answers; on failure nothing is left running."""
        if self.process:
            raise UserError(f"a broker is already running at {self.address}")
        java = require_java()
        libraries = fetch_libraries()
        if not port_is_free(self.port):
            raise UserError(f"port {self.port} is taken by another program; choose one with --port")
        self._write_config()
        self._format(java, libraries)
        process = self._launch(java, libraries)
        try:
            self._wait_until_ready(process, timeout)
        except BaseException:
            process.kill()
            self._pid_file.unlink(missing_ok=True)
            raise

    def stop(self, timeout: float = STOP_TIMEOUT) -> bool:
        """Stop in good order, by force after the time-out; False if it was not running."""
        process = self.process
        if process:
            process.send(signal.SIGTERM)
            if not process.wait(timeout):
                process.kill()
        self._pid_file.unlink(missing_ok=True)
        return process is not None

    def kill(self) -> None:
        """kill -9, as a power cut would: for tests of what survives."""
        process = self.process
        if process:
            process.kill()
        self._pid_file.unlink(missing_ok=True)

    def delete_data(self) -> None:
        """Throw away topics and log; only while stopped."""
        if self.process:
            raise UserError(f"the broker at {self.address} is running; stop it first")
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _write_config(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        template = Template(files("worker.streaming").joinpath("kafka-server.properties").read_text())
        self._config.write_text(
            template.substitute(port=self.port, controller_port=free_port(), data=self._data)
        )

    def _format(self, java: str, libraries: Path) -> None:
        """Give a new data directory its identity; an old one is left as it is."""
        if (self._data / "meta.properties").exists():
            return
        cluster = "quintet-development-01"  # 22 characters, as an identity must have
        command = [java, "-cp", f"{libraries}/*", "kafka.tools.StorageTool"]
        command += ["format", "--cluster-id", cluster, "--config", str(self._config)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"the broker's storage could not be prepared: {last_line(done.stderr)}")

    def _launch(self, java: str, libraries: Path) -> Process:
        options = [f"-Xmx{HEAP}", "-Xms128m", "-XX:+UseG1GC", "-Djava.awt.headless=true"]
        options += [
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            f"-XX:ErrorFile={self.directory}/crash.log",
        ]
        command = [java, *options, "-cp", f"{libraries}/*", "kafka.Kafka", str(self._config)]
        with self.log_file.open("ab") as log:
            process = Process.launch(command, output=log, directory=self.directory)
        self._pid_file.write_text(json.dumps({"pid": process.pid, "started": process.started}))
        return process

    def _wait_until_ready(self, process: Process, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while not answers(self.address):
            if not process.is_alive():
                raise UserError(f"the broker ended at once: {self._last_log_line()}; see {self.log_file}")
            if time.monotonic() > deadline:
                raise UserError(f"the broker did not answer within {timeout:.0f} s; see {self.log_file}")
            time.sleep(0.2)

    def _last_log_line(self) -> str:
        return last_line(self.log_file.read_text(errors="replace"))


def answers(address: str, timeout: float = 2.0) -> bool:
    """Whether a broker gives metadata with a controller: an open port alone says nothing."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout):
            pass
        client = KafkaAdminClient(
            bootstrap_servers=address,
            bootstrap_timeout_ms=int(timeout * 1000),
            request_timeout_ms=int(timeout * 1000),
        )
    except (KafkaError, OSError):
        return False
    try:
        return bool(client.describe_cluster()["brokers"])
    except (KafkaError, OSError, KeyError):
        return False
    finally:
        client.close()


def known_brokers() -> list[Broker]:
    """Every broker that was started in the user's cache directory and not thrown away."""
    found = (path for path in cache_directory().glob("broker-*") if path.name[7:].isdigit())
    return [Broker(int(path.name[7:]), path) for path in sorted(found)]


def default_directory(port: int) -> Path:
    """The directory of the broker on a port."""
    return cache_directory() / f"broker-{port}"


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_is_free(port: int) -> bool:
    """Whether a server could listen on it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
