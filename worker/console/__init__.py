"""The console: one web page with what all workers score and what the monitor finds, read from the topics."""
