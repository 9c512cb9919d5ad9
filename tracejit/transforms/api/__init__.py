"""The transforms as functions of functions: gradients, Jacobians, products, batches, own rules."""
