"""``priste live setup``: questions, the files that answer them, and tests of what was set up."""
