"""A package that adds to vidpipe a source of pictures and an output of CSV."""
