"""Loop nests that compute what contracts' texts say."""
