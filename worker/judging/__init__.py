"""Judges: a rubric, a summary and its evidence become a score with an explanation."""
