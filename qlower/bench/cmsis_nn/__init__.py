"""Layers by the kernels of CMSIS-NN, built from a checkout and counted here."""
