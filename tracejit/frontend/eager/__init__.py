"""Programs run operation by operation on tracers that know their values."""
