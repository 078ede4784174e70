"""Kinds, metrics and packs: the instructions that a judge is sent."""

from worker.rubrics.packs import Pack, Prompt, Rubric, evidence_of, load_pack

__all__ = ["Pack", "Prompt", "Rubric", "evidence_of", "load_pack"]
