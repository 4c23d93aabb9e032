"""What a Python process needs: imports, garbage, forks, float settings."""
