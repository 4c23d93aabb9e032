"""Operations on single values and on vectors of them."""
