"""Control flow: simplified, then lowered to the flat dataflow graph."""
