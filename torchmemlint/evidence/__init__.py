"""What rules judge: what an abstract run has noted, joined with who holds it, until when, and what lets it go."""
