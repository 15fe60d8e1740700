"""What finished results are turned into: tables, annotations, pictures, a report."""
