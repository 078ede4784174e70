"""Kafka: the ledger, the worker on Faust, topics, rejected records, a broker for development."""
