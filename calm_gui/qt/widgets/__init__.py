"""Small widgets that know nothing of classifiers, one a file."""
