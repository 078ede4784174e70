"""The whole story on one machine: real parts, a sample stream, a generator that gets worse, the alarm."""
