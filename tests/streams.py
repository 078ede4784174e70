"""What tests of the stream need: topics of their own on a real broker, workers as processes, records in and out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.examples import raw
from tests.slow_endpoint import Call, read_calls
from worker.settings import Settings
from worker.streaming.broker import free_port
from worker.streaming.connection import admin
from worker.streaming.topics import INPUT_MESSAGE_BYTES, create_or_check, plan

T = TypeVar("T")

ROOT = Path(__file__).parents[1]
TOPICS = ("generated", "scored", "metric_scores", "rejected", "drift", "control", "state", "labels")


@dataclass
class Stage:
    """Topics and a group that no other test uses, on a running broker."""

    address: str
    directory: Path
    partitions: int = 6
    name: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def __post_init__(self) -> None:
        self.env = {
            "QUINTET_BROKERS": self.address,
            "QUINTET_GROUP": f"group-{self.name}",
            "QUINTET_CACHE": "off",
            # Its calls are counted like any others, and most tests count calls.
            "QUINTET_REFERENCE_SET": "off",
            "QUINTET_LOG_FORMAT": "text",
        }
        self.env |= {f"QUINTET_TOPIC_{topic.upper()}": f"{self.name}.{topic}" for topic in TOPICS}
        self.settings = Settings.model_validate(
            {name.removeprefix("QUINTET_").lower(): value for name, value in self.env.items()}
        )

    def create_topics(self) -> None:
        """All eight."""
        with admin(self.settings) as client:
            create_or_check(client, plan(self.settings, self.partitions))

    def publish(self, records: Iterable[tuple[bytes | None, bytes | None]], **options: Any) -> None:
        """Keys and values to the input topic, all acknowledged when this returns."""
        sink = producer(self.address, **options)
        futures = [sink.send(self.settings.topic_generated, value, key) for key, value in records]
        for future in futures:
            future.get(timeout=60)
        sink.close()

    def publish_summaries(self, ids: Iterable[str], **changes: Any) -> None:
        """A valid summary for each id."""
        self.publish((name.encode(), raw(summary_id=name, **changes)) for name in ids)

    def read(self, topic: str) -> list[Any]:
        """Everything that is in one of our topics now."""
        return read_topic(self.address, getattr(self.settings, f"topic_{topic}"))

    def scored(self) -> list[dict[str, Any]]:
        """The events of the scored topic."""
        return [json.loads(record.value) for record in self.read("scored")]

    def wait_for(self, topic: str, count: int, seconds: float = 60) -> list[Any]:
        """The records of a topic, as soon as there are so many."""
        with TopicReading(self.address, getattr(self.settings, f"topic_{topic}")) as reading:
            return eventually(lambda: found if len(found := reading.so_far()) >= count else None, seconds)

    def committed(self) -> dict[int, tuple[int, str]]:
        """Offset and metadata that the group has committed, by partition."""
        consumer = KafkaConsumer(bootstrap_servers=self.address, group_id=self.settings.group)
        found = {}
        for number in range(self.partitions):
            kept = consumer.committed(TopicPartition(self.settings.topic_generated, number), metadata=True)
            if kept is not None:
                found[number] = (kept.offset, kept.metadata)
        consumer.close(autocommit=False)
        return found


@dataclass
class Worker:
    """A worker in a process of its own."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int
    name: str

    def readyz(self) -> tuple[int, dict[str, Any]]:
        """The status and the body of /readyz; 0 while nobody listens."""
        status, body = self.get("/readyz")
        return status, json.loads(body) if body else {}

    def get(self, path: str) -> tuple[int, str]:
        """A page of the worker's web server."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def telemetry(self, name: str) -> float:
        """The sum of a series over all its labels."""
        lines = self.get("/metrics")[1].splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.split("{")[0].split(" ")[0] == name)

    def wait_ready(self, seconds: float = 60) -> None:
        """Until it is ready."""
        eventually(lambda: self.readyz()[0] == 200 or self._must_live(), seconds)

    def _must_live(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return False

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text()[-3000:]

    def kill(self) -> None:
        """kill -9."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> None:
        """SIGTERM."""
        self.process.terminate()

    def wait(self, seconds: float = 60) -> int:
        """The exit code."""
        return self.process.wait(seconds)


class Workers:
    """Starts workers and ends, by their number, all that are left."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._started: list[Worker] = []

    def start(self, command: Sequence[str], **env: str) -> Worker:
        """A worker with these settings on top of the stage's."""
        port = free_port()
        log = self._stage.directory / f"worker-{len(self._started)}.log"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        environment = inherited | self._stage.env | {"QUINTET_WEB_PORT": str(port)} | env
        environment["PYTHONPATH"] = str(ROOT)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *command], env=environment, cwd=ROOT, stdout=output, stderr=output
            )
        worker = Worker(process, log, port, f"worker-{len(self._started)}")
        self._started.append(worker)
        return worker

    def stub(self, **env: str) -> Worker:
        """A worker whose judge only waits."""
        return self.start(["tests/stub_worker.py"], **env)

    def quintet(self, endpoint: EndpointProcess, **env: str) -> Worker:
        """`quintet worker` with a judge at this endpoint; its API key tells workers apart."""
        key = f"worker-{len(self._started)}"
        judge = {"QUINTET_JUDGE": "openai", "OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": key}
        command = ["-c", "from worker.cli import main; main()", "worker"]
        return self.start(command, **(judge | env))

    def close(self) -> None:
        """End them all."""
        for worker in self._started:
            if worker.process.poll() is None:
                worker.kill()


class EndpointProcess:
    """A judge's endpoint that can be killed and started again on the same port."""

    def __init__(self, directory: Path, *, delay: float = 0.0, hang: bool = False) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.log = directory / "calls.txt"
        self.log.touch()
        options = ["--port", str(self.port), "--delay", str(delay), "--log", str(self.log)]
        self._command = [sys.executable, str(ROOT / "tests/slow_endpoint.py"), *options]
        self._command += ["--hang"] if hang else []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and wait until it listens."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline(), "the endpoint did not start"

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def calls(self) -> list[Call]:
        """What it was asked, and when."""
        return read_calls(self.log)


def producer(address: str, **options: Any) -> KafkaProducer:
    """A producer that sends the largest records there may be."""
    return KafkaProducer(
        bootstrap_servers=address, max_request_size=INPUT_MESSAGE_BYTES, linger_ms=5, **options
    )


class TopicReading:
    """Reads a topic from the beginning and remembers what it has read: one client, however often it is asked."""

    def __init__(self, address: str, topic: str) -> None:
        self._client = KafkaConsumer(
            bootstrap_servers=address,
            isolation_level="read_committed",
            # Where a first look for the beginning fails, the client falls back on this.
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            group_id=None,
        )
        numbers = self._client.partitions_for_topic(topic) or ()
        self._partitions = [TopicPartition(topic, number) for number in numbers]
        self._client.assign(self._partitions)
        self._client.seek_to_beginning(*self._partitions)
        self._found: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close(autocommit=False)

    def so_far(self) -> list[Any]:
        """All committed records that are in the topic now."""
        ends = self._client.end_offsets(self._partitions)
        while any(self._client.position(partition) < ends[partition] for partition in self._partitions):
            for records in self._client.poll(timeout_ms=200).values():
                self._found += records
        return self._found


def read_topic(address: str, topic: str) -> list[Any]:
    """All committed records that are in a topic now."""
    with TopicReading(address, topic) as reading:
        return reading.so_far()


def eventually(look: Callable[[], T | None], seconds: float, pause: float = 0.1) -> T:
    """What a look finds, once it finds something; a failed test after so long."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"nothing within {seconds} s"
        time.sleep(pause)
