"""certificate."""
