"""Speed and memory, measured in one run and told as ratios: ``make bench``."""
