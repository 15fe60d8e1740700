"""What the user wants: the configuration file, read and checked."""
