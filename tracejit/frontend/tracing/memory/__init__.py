"""Memory while tracing: storages, how arrays lie in them, and where elements of views are."""
