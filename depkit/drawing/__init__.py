"""Drawings of trees and charts, and progress bars."""
