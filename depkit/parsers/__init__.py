"""A parser = inputs + encoder + scorer + decoder; one file a family."""
