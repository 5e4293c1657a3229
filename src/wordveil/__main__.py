"""`wordveil` and `python -m wordveil`: the command line.

What it loads takes longer than most commands, so that Ctrl-C may come before there is anything to end.
"""

import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from wordveil.cli.main import main as run
    except KeyboardInterrupt:
        print("wordveil: interrupted before anything was read or written.", file=sys.stderr)
        sys.exit(130)  # as `exit_codes` has it, which may be what was not loaded
    run()


if __name__ == "__main__":
    main()
