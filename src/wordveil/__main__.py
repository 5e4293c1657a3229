"""`python -m wordveil`: the command line."""

from wordveil.cli.main import main

if __name__ == "__main__":
    main()
