"""The programs: everything else is composed here, and nothing imports this."""
