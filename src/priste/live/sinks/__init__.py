"""Sinks: released points are pushed to servers, and served to clients that connect."""
