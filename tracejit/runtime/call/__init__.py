"""A call before it is answered: arguments bound, leaves and guards described."""
