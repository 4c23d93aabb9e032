"""Layers run by the kernels of CMSIS-NN, which are built from a checkout and counted
here."""
