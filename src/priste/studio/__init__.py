"""The studio: a page on this machine that shows a week, what is guarded in it, and what protects
it.

``priste studio`` serves it on loopback. Nothing leaves the machine, and only exports are written.
Uploads are in a private folder that is removed when the studio ends.
"""
