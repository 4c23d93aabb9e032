"""Certificates that two contracts are equal, and a checker that needs no qlower."""
