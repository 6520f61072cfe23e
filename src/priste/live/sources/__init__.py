"""Sources of true fixes. Each gives them to the person they belong to."""
