"""A call before it is answered: arguments bound, leaves described, guards and sources."""
