"""Doing jobs: on all cores, each once, with what was done before left alone."""
