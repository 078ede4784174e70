"""Quintet: watches the quality of machine-written product summaries while they are being produced."""
