"""Score drift: what is watched, when it is called a drop, and who changed.

Pure arithmetic: no Kafka, no Prometheus, no clock of its own (time comes with the scores).
"""
