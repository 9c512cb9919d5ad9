"""Values from outside a traced function: where they are read, and what guards them."""
