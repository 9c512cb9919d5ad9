"""Control flow on traced values: branches, loops, and what they leave."""
