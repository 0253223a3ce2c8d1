"""The abstract run: what values the facts make, which functions they reach, and what is noted on the way."""
