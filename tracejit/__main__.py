"""`python -m tracejit`: the command line."""

from tracejit.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
