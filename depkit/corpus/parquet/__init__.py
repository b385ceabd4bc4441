"""Sentences as Parquet files and as Arrow batches, one row per sentence; this needs pyarrow."""
