"""State files and journals: what is written to disk, and how it is read again."""
