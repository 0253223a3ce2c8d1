"""What the facts show without a run: pairs of statements that should meet, and ways on which they do not."""
