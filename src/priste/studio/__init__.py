"""A door: a page on this machine that shows a week, what is secret in it, and what protects it.

``priste studio`` serves it on loopback. Nothing leaves the machine, and nothing is written but
what the user exports; uploads lie in a private folder that is gone when the studio ends.
"""
