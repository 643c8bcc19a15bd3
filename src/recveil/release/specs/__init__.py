"""What is public about each method: settings, claim, caveats."""
