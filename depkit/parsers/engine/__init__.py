"""Running a network on arrays: devices and their precision."""
