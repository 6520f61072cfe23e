"""Measured speed: ratios taken in one run, with machine-readable results next to them."""
