"""Cheap remaps of the mechanism's outputs: drafts, their search, and their price."""
