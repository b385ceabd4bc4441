"""The ground floor: streams of bytes, complete files, locks, limits and progress; no treebanks."""
