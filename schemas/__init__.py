"""JSON Schemas of all events and the AsyncAPI document, written by `make schemas` from worker.events."""
