"""The drift monitor on Kafka: scores in, drift events and its own state out, in one transaction."""
