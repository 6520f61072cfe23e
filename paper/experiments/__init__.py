"""The figures and tables of the paper: what each needs, and what it makes of the results."""
