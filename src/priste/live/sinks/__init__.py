"""Ways out: released points to servers that want them pushed, and to clients that connect."""
