"""Drawings of dependency trees."""
