"""Other packages: tensors, estimators and minimisers around compiled functions."""
