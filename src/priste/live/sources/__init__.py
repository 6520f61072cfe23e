"""Ways in: where true fixes come from. Each hands them to the person they belong to."""
