"""What can be compared: contracts, dumps, live systems, versions of a model."""
