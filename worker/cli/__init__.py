"""The `quintet` command."""
