"""From columns of any table to ratings: roles, ids, values, times, and what to reject."""
