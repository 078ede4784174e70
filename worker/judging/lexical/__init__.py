"""The built-in judge: offline, deterministic, explained."""
