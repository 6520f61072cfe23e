"""``python -m priste`` is the same as ``priste``."""

from priste.cli import main

if __name__ == "__main__":
    main()
