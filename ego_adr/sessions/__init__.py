"""Whole recordings: logs of steps, and what they tell about omissions and order."""
