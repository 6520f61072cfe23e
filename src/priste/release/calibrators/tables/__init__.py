"""The law of a step: what is harmless is told as it is, the rest is pooled, at the least cost."""
