"""Who listens on a broker's port: one request by hand, since a client would only say that its time was up."""

from __future__ import annotations

import socket
import ssl
import struct
from dataclasses import dataclass
from enum import Enum

from worker.settings import Settings
from worker.streaming.connection import CLIENT_ID, KNOCK_SECONDS, first_line, ssl_context

#: Seconds to wait for an answer; a broker gives it within milliseconds.
PATIENCE = 2.0
_API_VERSIONS = 18
_CORRELATION = 0x51554E54
#: ApiVersions, version 0: the one request that every broker answers, before any login.
_BODY = struct.pack(">hhih", _API_VERSIONS, 0, _CORRELATION, len(CLIENT_ID)) + CLIENT_ID.encode()
GREETING = struct.pack(">i", len(_BODY)) + _BODY
#: Ends what a web server may take for the first line of a request.
_LINE_ENDS = b"\r\n\r\n"
#: Some answer a line that they can't read with nothing but a page.
_WEB_OPENINGS = {b"http/", b"<!doc", b"<html"}


class Listener(Enum):
    """What was found: a sentence about an address, and the next step."""

    KAFKA = ("{broker} is Kafka", "")
    NOBODY = (
        "no broker answers at {broker}",
        "set QUINTET_BROKERS, or start one with: quintet broker start",
    )
    WEB = (
        "what listens at {broker} is a web server, not Kafka",
        "name Kafka's own port in QUINTET_BROKERS, usually 9092",
    )
    STRANGER = (
        "what listens at {broker} is not Kafka",
        "name Kafka's own port in QUINTET_BROKERS, usually 9092",
    )
    SILENT = (
        "what listens at {broker} does not answer as Kafka would",
        "name Kafka's own port in QUINTET_BROKERS; if it is, it may want TLS: set QUINTET_SECURITY_PROTOCOL",
    )
    WANTS_TLS = ("{broker} wants TLS", "set QUINTET_SECURITY_PROTOCOL to SSL or SASL_SSL")
    WITHOUT_TLS = (
        "what listens at {broker} does not speak TLS",
        "set QUINTET_SECURITY_PROTOCOL to PLAINTEXT or SASL_PLAINTEXT, or name the TLS port in QUINTET_BROKERS",
    )
    UNTRUSTED = (
        "the certificate of {broker} is not trusted",
        "name the PEM file of its authority with QUINTET_SSL_CAFILE",
    )

    def __init__(self, sentence: str, next_step: str) -> None:
        self.sentence = sentence
        self.next_step = next_step


@dataclass(frozen=True)
class Greeted:
    """Who answered at one address, with the system's own words where it has any."""

    broker: str
    listener: Listener
    detail: str = ""

    @property
    def message(self) -> str:
        """One line."""
        sentence = self.listener.sentence.format(broker=self.broker)
        return f"{sentence} ({self.detail})" if self.detail else sentence


def greet(settings: Settings, broker: str) -> Greeted:
    """Say hello as a Kafka client does, and look at what comes back."""
    host, _, port = broker.rpartition(":")
    host = host.strip("[]")
    try:
        connection = socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS)
    except OSError as error:
        return Greeted(broker, Listener.NOBODY, first_line(error))
    with connection:
        connection.settimeout(PATIENCE)
        if not settings.security_protocol.endswith("SSL"):
            return Greeted(broker, _recognise(connection))
        try:
            with ssl_context(settings).wrap_socket(connection, server_hostname=host) as protected:
                return Greeted(broker, _recognise(protected))
        except ssl.SSLCertVerificationError as error:
            return Greeted(broker, Listener.UNTRUSTED, error.verify_message)
        except OSError:
            return Greeted(broker, Listener.WITHOUT_TLS)


def _recognise(connection: socket.socket) -> Listener:
    answer = _ask(connection, GREETING)
    if not answer:
        answer = _ask(connection, _LINE_ENDS)
    if answer[4:8] == struct.pack(">i", _CORRELATION):
        return Listener.KAFKA
    if answer.lstrip()[:5].lower() in _WEB_OPENINGS:
        return Listener.WEB
    if answer[:2] == b"\x15\x03":  # TLS' way to say that something is wrong
        return Listener.WANTS_TLS
    return Listener.STRANGER if answer else Listener.SILENT


def _ask(connection: socket.socket, request: bytes) -> bytes:
    """The first bytes of the answer; none where the other side is silent or hangs up."""
    answer = b""
    try:
        connection.sendall(request)
        while len(answer) < 8 and (more := connection.recv(4096)):
            answer += more
    except OSError:
        pass
    return answer
