"""python -m hybridscope ARGUMENTS: the program."""

from .program import main

if __name__ == "__main__":
    main()
