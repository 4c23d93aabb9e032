"""A contract's arithmetic as circuits of bits: whole numbers, with proved widths."""
