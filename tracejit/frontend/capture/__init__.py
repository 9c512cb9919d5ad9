"""Values from outside a traced function: access paths, guards, and what a trace has read."""
