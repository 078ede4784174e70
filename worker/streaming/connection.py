"""How to reach the brokers: settings become client options in this one place."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from worker.errors import UserError
from worker.settings import Settings

CLIENT_ID = "quintet"
#: Seconds for a first connection to a broker.
KNOCK_SECONDS = 3.0


def client_options(settings: Settings) -> dict[str, Any]:
    """Options that kafka-python and aiokafka both take."""
    options: dict[str, Any] = {
        "bootstrap_servers": list(settings.brokers),
        "client_id": CLIENT_ID,
        "security_protocol": settings.security_protocol,
    }
    if settings.security_protocol.endswith("SSL"):
        options["ssl_context"] = ssl_context(settings)
    if settings.security_protocol.startswith("SASL"):
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.sasl_username
        options["sasl_plain_password"] = secret(settings)
    return options


def ssl_context(settings: Settings) -> ssl.SSLContext:
    """Trust the given authority, or the system's; show our own certificate where there is one."""
    try:
        context = ssl.create_default_context(cafile=settings.ssl_cafile)
        if settings.ssl_certfile:
            context.load_cert_chain(settings.ssl_certfile, settings.ssl_keyfile)
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"QUINTET_SSL_CAFILE, _CERTFILE or _KEYFILE: {error}; name readable PEM files"
        ) from None
    return context


def secret(settings: Settings) -> str:
    """The SASL password, for the client only."""
    return settings.sasl_password.get_secret_value() if settings.sasl_password else ""


@contextmanager
def admin(settings: Settings, *, timeout: float = 10.0) -> Iterator[KafkaAdminClient]:
    """An admin client for a command; brokers out of reach are the user's one line."""
    try:
        knock(settings)
        client = KafkaAdminClient(
            **client_options(settings),
            bootstrap_timeout_ms=int(timeout * 1000),
            request_timeout_ms=int(timeout * 1000),
        )
    except (KafkaError, OSError) as error:
        raise out_of_reach(settings, error) from None
    try:
        yield client
    except KafkaError as error:
        raise UserError(f"broker {','.join(settings.brokers)}: {first_line(error)}") from None
    finally:
        client.close()


def knock(settings: Settings) -> None:
    """Fail at once where nobody listens at all: the client itself would go on trying until its time is up."""
    refused: OSError | None = None
    for broker in settings.brokers:
        host, _, port = broker.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_SECONDS).close()
            return
        except OSError as error:
            refused = error
    raise refused or OSError("no broker is named")


def out_of_reach(settings: Settings, error: BaseException) -> UserError:
    """One line for a broker that does not answer, or does not understand us."""
    where = ",".join(settings.brokers)
    if isinstance(error, OSError):
        advice = "set QUINTET_BROKERS, or start one with: quintet broker start"
        return UserError(f"no broker answers at {where} ({first_line(error)}); {advice}")
    advice = "check QUINTET_BROKERS, QUINTET_SECURITY_PROTOCOL and the SASL and SSL settings"
    protocol = settings.security_protocol
    return UserError(f"no broker answers at {where} with {protocol} ({first_line(error)}); {advice}")


def first_line(error: BaseException) -> str:
    """An error's text, short enough for one line."""
    text = str(error) or type(error).__name__
    return text.splitlines()[0][:200]
