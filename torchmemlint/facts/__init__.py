"""What the text of a file says, before anything is run: the facts, who makes them, and ways of going over them."""
