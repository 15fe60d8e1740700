"""What the user wants: the configuration file, read, checked and made into frozen records."""
