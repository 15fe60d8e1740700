"""A package that adds to vidpipe a source of pictures, an output of CSV, a family of models."""
