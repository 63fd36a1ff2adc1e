"""`python -m sitelore` is `sitelore`."""

from sitelore.cli.main import run

if __name__ == "__main__":
    run()
