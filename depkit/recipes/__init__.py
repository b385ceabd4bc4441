"""TOML recipes that come with depkit."""
