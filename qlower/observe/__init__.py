"""One layer computed by a rule: its runs, chains of steps, exact values."""
