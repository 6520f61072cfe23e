"""The release table of a step: guesses that pass stay as they are, others are merged."""
